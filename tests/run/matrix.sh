#!/bin/sh
# Runs every case of the matrix under the preloaded library and compares with what its list says.
#
#     matrix.sh LIBRARY PROGRAM [PATTERN]
#
# Every case also runs without the library where it ends by itself: it must do the same there.
set -u

library=$1
program=$2
pattern=${3:-.}
passed=0
failed=0
ulimit -c 0

output=$(mktemp)
trap 'rm -f "$output"' EXIT

# expect NAME STATUS TEXT: what the case just run must have done. No text: it must say nothing.
expect()
{
    if [ "$status" -ne "$2" ]; then
        echo "$1: exit status $status instead of $2"
    elif [ -n "$3" ] && ! grep -q "$3" "$output"; then
        echo "$1: does not say \"$3\""
    elif [ -z "$3" ] && [ -s "$output" ]; then
        echo "$1: should say nothing"
    else
        passed=$((passed + 1))
        return
    fi
    sed 's/^/    /' "$output"
    failed=$((failed + 1))
}

"$program" --list | grep -E "$pattern" >"$output.list"
while read -r name expected; do
    LD_PRELOAD=$library GORDIAN_TOOL='' timeout 60 "$program" "$name" >"$output" 2>&1 </dev/null
    status=$?
    case $expected in
    deadlock) expect "$name" 86 'deadlock in process' ;;
    gone) expect "$name" 86 'the owner of a lock is gone' ;;
    potential) expect "$name" 0 'potential deadlock' ;;
    quiet) expect "$name" 0 '' ;;
    *)
        echo "$name: what is \"$expected\"?"
        failed=$((failed + 1))
        ;;
    esac
done <"$output.list"
rm -f "$output.list"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
