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

# It is counted as soon as the reporter has answered, by a pipe. Other pipes are whoever's who started this test.
pipes_of()
{
    find "/proc/$1/fd" -lname 'pipe:*' -printf '%l\n' 2>/dev/null
}

# shellcheck disable=SC2317 # called by wait_for
answered()
{
    ! pipes_of "$process" | grep -qvxF -f pipes
}

pipes_of $$ >pipes

"$program" --list | grep ' likely' >list
while read -r name _; do
    : >output
    "$gordian" run "$program" "$name" >output 2>&1 </dev/null &
    job=$!
    until grep -q ', process [0-9]' output || ! kill -0 $job 2>/dev/null; do
        sleep 0.02
    done
    process=$(sed -n 's/.*, process \([0-9]*\).*/\1/p' output | head -n 1)
    wait_for "the answer of the reporter of $name" answered
    case $name in
    likely-jumps-from-cycle | likely-unlocks-in-cycle)
        "$gordian" inspect "$process" >inspected 2>&1
        check "inspect: a handler was seen to act: $name" grep -q 'deadlock, likely: ' inspected
        ;;
    esac
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

# What is proved is not ended while a handler of the program's own could still run.
: >output
"$gordian" run "$program" abba-handler >output 2>&1 </dev/null &
job=$!
wait_for 'the deadlock to be reported' grep -q ', process [0-9]' output
process=$(sed -n 's/.*, process \([0-9]*\).*/\1/p' output | head -n 1)
wait_for 'the answer of the reporter of abba-handler' answered
check 'proved, with a handler: is not ended' kill -USR1 "$process"
wait $job
is $? 86 'proved, with a handler: exit status'
check 'proved, with a handler: why it goes on' grep -q 'the program continues: it has signal handlers' output
check 'proved, with a handler: is not called likely' test "$(grep -c likely output)" -eq 0

# What is only likely is not told of a program that has ended before its reporter looks.
cat >late <<END
#!/bin/sh
: >asked
while [ ! -e ended ]; do sleep 0.01; done
"$gordian" "\$@"
: >reported
END
chmod +x late
LD_PRELOAD=$GORDIAN_RUN_LIBRARY GORDIAN_TOOL=$scratch/late "$program" likely-relock-handler >output 2>&1 </dev/null &
wait_for 'the reporter to be asked' test -e asked
kill -9 $!
wait $! 2>/dev/null
: >ended
wait_for 'the reporter' test -e reported
is "$(cat output)" '' 'ended meanwhile: nothing is said'

# libc marks every robust mutex as shared between processes.
"$gordian" run "$program" twice-robust >output 2>&1 </dev/null
if grep -q 'robust mutex' output && ! grep -q process-shared output; then
    good
else
    bad "twice-robust: a private mutex is called process-shared"
    sed 's/^/    /' output >&2
fi
finish
