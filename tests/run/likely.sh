#!/bin/sh
# What is likely, with the whole command: neither the library inside nor who looks from outside ends
# the program, and it is told once. And what a robust mutex is called.
#
#     likely.sh GORDIAN LIBRARY PROGRAM
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
GORDIAN_RUN_LIBRARY=$(absolute "$2")
export GORDIAN_RUN_LIBRARY
program=$(absolute "$3")
enter_scratch

"$program" --list | grep ' likely' >list
while read -r name _; do
    : >output
    "$gordian" run "$program" "$name" >output 2>&1 </dev/null &
    job=$!
    until grep -q ', process [0-9]' output || ! kill -0 $job 2>/dev/null; do
        sleep 0.02
    done
    process=$(sed -n 's/.*, process \([0-9]*\).*/\1/p' output | head -n 1)
    # It is counted as soon as the reporter has answered, by a pipe.
    for _ in $(seq 200); do
        find "/proc/$process/fd" -lname 'pipe:*' 2>/dev/null | grep -q . || break
        sleep 0.02
    done
    [ -z "$process" ] || kill -USR1 "$process"
    wait $job
    status=$?
    if [ $status -ne 0 ]; then
        bad "$name: exit status $status instead of 0"
    elif [ "$(grep -c '^gordian: .*, likely: ' output)" -ne 1 ] || grep -q ', proved: ' output; then
        bad "$name: should be called likely, and once"
    elif ! grep -q '1 likely deadlock' output; then
        bad "$name: not counted"
    else
        good
        continue
    fi
    sed 's/^/    /' output >&2
done <list

# libc marks every robust mutex as shared between processes.
"$gordian" run "$program" twice-robust >output 2>&1 </dev/null
if grep -q 'robust mutex' output && ! grep -q process-shared output; then
    good
else
    bad "twice-robust: a private mutex is called process-shared"
    sed 's/^/    /' output >&2
fi
finish
