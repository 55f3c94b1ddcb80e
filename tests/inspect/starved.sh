#!/bin/sh
# The core of a process that hardly gets a processor: who was stopped for a stack takes its time to go
# back to sleep, and must be asleep in the core all the same.
#
#     starved.sh GORDIAN PROGRAM
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
program=$(absolute "$2")
enter_scratch

for _ in $(seq $(($(nproc) * 2))); do
    while :; do :; done &
done
for _ in $(seq "$((${GORDIAN_TEST_SCALE:-100} / 20 + 5))"); do
    nice -n 19 "$program" mutex-errorcheck >/dev/null &
    process=$!
    timeout $patience "$gordian" inspect --json --watch 0.01 --stop-ms 10000 --core own.core $process >report 2>stderr
    is $? 1 'alive: exit status'
    "$gordian" inspect --json own.core >report 2>stderr
    is $? 1 'its own core: exit status'
    check 'its own core: proved' grep -q '"verdict":"proved"' report
    kill -9 $process
    wait $process 2>/dev/null
done
finish
