#!/bin/sh
# Runs every hang of a program under the preloaded library, and the same written right.
#
#     hangs.sh LIBRARY PROGRAM [TOOL]
#
# Each must be reported as what it is, name the threads that hang, and end with status 86; written
# right it must say nothing and end by itself. Without TOOL the library's own plain report is read.
set -u

library=$1
program=$2
tool=${3:-}
passed=0
failed=0
ulimit -c 0

complain()
{
    echo "$1: $2"
    sed 's/^/    /' "$output"
    failed=$((failed + 1))
}

watched()
{
    LD_PRELOAD=$library GORDIAN_TOOL=$tool timeout 20 "$program" "$@" >"$output" 2>&1
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

output=$(mktemp)
trap 'rm -f "$output"' EXIT

for hang in $("$program"); do
    watched "$hang"
    status=$?
    verdict='deadlock in process'
    if [ "$hang" = owner-gone ]; then
        verdict='the owner of a lock is gone'
    fi
    if [ $status -ne 86 ]; then
        complain "$hang" "exit status $status instead of 86"
    elif [ -z "$tool" ] && ! grep -q "$verdict" "$output"; then
        complain "$hang" "does not say \"$verdict\""
    elif [ -z "$tool" ] && [ "$(grep -c ' waits for ' "$output")" -ne "$(waiters "$hang")" ]; then
        complain "$hang" "should name $(waiters "$hang") waiting threads"
    else
        passed=$((passed + 1))
    fi

    watched "$hang" good
    status=$?
    if [ $status -ne 0 ] || [ "$(cat "$output")" != "done" ]; then
        complain "$hang written right" "exit status $status, or it says something"
    else
        passed=$((passed + 1))
    fi
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
