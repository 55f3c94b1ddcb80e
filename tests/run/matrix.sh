#!/bin/sh
# Runs every case of the matrix under the preloaded library and compares with what its list says.
#
#     matrix.sh LIBRARY PROGRAM [PATTERN]
#
# Every case also runs without the library where it ends by itself: it must do the same there.
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
library=$(absolute "$1")
program=$(absolute "$2")
pattern=${3:-.}
enter_scratch

# expect NAME STATUS TEXT: what the case just run must have done. No text: it must say nothing.
expect()
{
    if [ "$status" -ne "$2" ]; then
        bad "$1: exit status $status instead of $2"
    elif [ -n "$3" ] && ! grep -q "$3" output; then
        bad "$1: does not say \"$3\""
    elif [ -z "$3" ] && [ -s output ]; then
        bad "$1: should say nothing"
    else
        good
        return
    fi
    sed 's/^/    /' output >&2
}

# watch_once NAME: runs it until it ends.
watch_once()
{
    LD_PRELOAD=$library GORDIAN_TOOL='' timeout $patience "$program" "$1" >output 2>&1 </dev/null
}

# watch_until TEXT NAME: the same, with SIGUSR1 as soon as the text has been printed.
watch_until()
{
    : >output
    LD_PRELOAD=$library GORDIAN_TOOL='' "$program" "$2" >output 2>&1 </dev/null &
    job=$!
    until grep -q "$1" output || ! kill -0 $job 2>/dev/null; do
        sleep 0.02
    done
    kill -USR1 $job 2>/dev/null
    wait $job
}

# at_most_once NAME: what is likely is said once.
at_most_once()
{
    if [ "$(grep -c ', likely, in process' output)" -gt 1 ]; then
        bad "$1: said more than once"
        sed 's/^/    /' output >&2
    fi
}

"$program" --list | grep -E "$pattern" >list
while read -r name expected; do
    case $expected in
    likely* | goes-on) watch_until 'in process' "$name" ;;
    *) watch_once "$name" ;;
    esac
    status=$?
    case $expected in
    deadlock) expect "$name" 86 'deadlock in process' ;;
    gone) expect "$name" 86 'the owner of a lock has ended' ;;
    potential) expect "$name" 0 'potential deadlock' ;;
    quiet) expect "$name" 0 '' ;;
    likely)
        expect "$name" 0 'deadlock, likely, in process'
        at_most_once "$name"
        ;;
    goes-on) expect "$name" 0 'deadlock in process' ;;
    likely-gone)
        expect "$name" 0 'the owner of a lock has ended, likely, in process'
        at_most_once "$name"
        ;;
    unharmed)
        expect "$name" 0 "$(grep -o -m 1 likely output)"
        at_most_once "$name"
        ;;
    *) bad "$name: what is \"$expected\"?" ;;
    esac
done <list
finish
