#!/bin/sh
# Runs every hang of a program under the preloaded library, and the same written right.
#
#     hangs.sh LIBRARY PROGRAM [TOOL]
#
# Each must be reported as what it is, name the threads that hang, and end with status 86; written
# right it must say nothing and end by itself. Without TOOL the library's own plain report is read.
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
library=$(absolute "$1")
program=$(absolute "$2")
tool=${3:-}
enter_scratch

complain()
{
    bad "$1: $2"
    sed 's/^/    /' output >&2
}

watched()
{
    LD_PRELOAD=$library GORDIAN_TOOL=$tool timeout $patience "$program" "$@" >output 2>&1
}

# How many threads must be in the report as waiting.
waiters()
{
    case $1 in
    mutex-abba | semaphore-abba | join-locked) echo 2 ;;
    condition-outer | barrier-locked) echo 3 ;; # the main thread joins: it could have helped
    *) echo 1 ;;
    esac
}

for hang in $("$program"); do
    watched "$hang"
    status=$?
    verdict='deadlock in process'
    if [ "$hang" = owner-gone ]; then
        verdict='the owner of a lock has ended'
    fi
    if [ $status -ne 86 ]; then
        complain "$hang" "exit status $status instead of 86"
    elif [ -z "$tool" ] && ! grep -q "$verdict" output; then
        complain "$hang" "does not say \"$verdict\""
    elif [ -z "$tool" ] && [ "$(grep -c ' waits for ' output)" -ne "$(waiters "$hang")" ]; then
        complain "$hang" "should name $(waiters "$hang") waiting threads"
    else
        good
    fi

    watched "$hang" good
    status=$?
    if [ $status -ne 0 ] || [ "$(cat output)" != "done" ]; then
        complain "$hang written right" "exit status $status, or it says something"
    else
        good
    fi
done
finish
