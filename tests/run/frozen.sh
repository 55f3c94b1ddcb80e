#!/bin/sh
# A program that stands still for longer than a doubtful wait may last is not accused when it goes on: nobody could
# have ended the wait in that time.
#
#     frozen.sh LIBRARY PROGRAM
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
library=$(absolute "$1")
program=$(absolute "$2")
enter_scratch

LD_PRELOAD=$library GORDIAN_TOOL='' "$program" >output 2>&1 &
process=$!
wait_for 'the program to stop itself' grep -q '^State:[[:space:]]*T' "/proc/$process/status"
sleep 3 # the freeze itself
kill -CONT $process
wait $process
is $? 0 'the program ends well'
is "$(cat output)" '' 'and nothing is said'
finish
