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

"$program" --list | grep -E "$pattern" >list
while read -r name expected; do
    LD_PRELOAD=$library GORDIAN_TOOL='' timeout $patience "$program" "$name" >output 2>&1 </dev/null
    status=$?
    case $expected in
    deadlock) expect "$name" 86 'deadlock in process' ;;
    gone) expect "$name" 86 'the owner of a lock is gone' ;;
    potential) expect "$name" 0 'potential deadlock' ;;
    quiet) expect "$name" 0 '' ;;
    *) bad "$name: what is \"$expected\"?" ;;
    esac
done <list
finish
