#!/bin/sh
# A thread that sleeps on a word of the library that watches it is part of no finding. The library of
# this test has that one's name, and then another.
#
#     word.sh GORDIAN SLEEPER LIBRARY
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
sleeper=$(absolute "$2")
library=$(absolute "$3")
enter_scratch

# asleep PID: all threads of it sleep.
# shellcheck disable=SC2317 # called by wait_for
asleep()
{
    [ "$(cat /proc/"$1"/task/*/stat | grep -c ') S ')" -eq 2 ]
}

# inspected NAME: the sleeper with the library under this name; leaves `report` and `status`.
inspected()
{
    cp "$library" "$1"
    : >said
    "$sleeper" "./$1" >said 2>&1 &
    process=$!
    wait_for 'the sleeper' grep -q ready said
    wait_for 'sleep' asleep $process
    "$gordian" inspect --verbose --color never $process >report 2>&1
    status=$?
    kill $process
    wait $process 2>/dev/null
}

inspected libgordian-run.so.0
check "the watcher's: exit status $status" test $status -eq 0
check "the watcher's: said" grep -q 'inside the library of' report
inspected libother.so
check "another's: exit status $status" test $status -ne 0
finish
