#!/bin/sh
# What `gordian run` says: "no deadlock" only when it is known, a lost wakeup as that, everybody who did not end.
#
#     said.sh GORDIAN PROGRAM
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
program=$(absolute "$2")
enter_scratch

# run EXPECTED OPTION... CASE: its standard error is in "stderr".
run()
{
    expected=$1
    shift
    timeout "$patience" "$gordian" run "$@" >stdout 2>stderr </dev/null
    is $? "$expected" "exit status: run $*"
}

says()
{
    check "says \"$1\"" grep -q -e "$1" stderr
}

never_says()
{
    check "does not say \"$1\"" test "$(grep -c -e "$1" stderr)" -eq 0
}

# A condition that is not signalled has no holder, and none that is nowhere. Whether a signal was lost is not known.
run 86 --json lost.json "$program" lost-wakeup
check 'its kind' grep -q '"kind":"never-signalled"' lost.json
says '^gordian: deadlock 1: .* waits for change, which no thread is left to signal'
says 'No thread is left that could signal the condition'
never_says 'wakeup is lost'
never_says 'for itself'
never_says 'condition-1'

# A process of one thread that waits for a condition may park there, until a signal ends it.
timeout "$patience" "$gordian" run --on-hang 1 "$program" lost-alone >stdout 2>stderr
is $? 87 'exit status of one that parks'
never_says '[0-9] deadlock'

# A semaphore that began at 0 was taken by nobody.
run 86 "$program" nobody-posts
says '^gordian: deadlock 1: wait_for_unit waits for units, which no thread is left to post'
says 'could have posted units'
says 'No thread is left that could post the semaphore'
never_says 'hold'

# Of a union the member that fits.
run 86 "$program" either
says 'holds either\.rwlock (rwlock'

# While a handler could post it, nothing is proved.
timeout "$patience" "$gordian" run --on-hang 1 "$program" may-be-posted >stdout 2>stderr
is $? 87 'exit status where a handler may post'
never_says '^gordian run: .*[0-9] deadlock'

# Locks count however a program ends; what was found is said by how it ended.
run 0 "$program" plain
says '^gordian run: no deadlock; watched 1 lock, 1 thread, 1 process'
run 0 "$program" at-once
says '^gordian run: no deadlock; watched 1 lock, 1 thread, 1 process'
run 0 "$program" another
says '^gordian run: no deadlock; watched 2 locks, '
run 134 "$program" aborts
says '^gordian run: nothing found among 1 lock; watched 1 lock'
never_says 'no deadlock'

# Whoever is ended while nothing moves is shown, with the call and the line.
run 87 --on-hang 0.5 "$program" rests
says '^gordian run: no progress for 0.5 s; these threads did not end:'
says 'sleeps in '
says 'said.c:[0-9]'
says '^gordian run: nothing found among 1 lock'
never_says 'no deadlock'

# Who computes has not stopped, though nobody may have taken the processor from it all the time.
run 0 --on-hang 2 "$program" computes

# shellcheck disable=SC2317 # called by wait_for
shown()
{
    "$gordian" run --status "$rests" >status 2>&1 && grep -q 'said.c:[0-9]' status
}

# Any process can be asked, watched or not.
"$program" rests >stdout &
rests=$!
wait_for 'the program' grep -q rests stdout
wait_for 'its status' shown
check 'its status has the call' grep -q 'sleeps in ' status
kill "$rests"
wait "$rests" 2>/dev/null

# A program that its loader was asked to run has its own name.
for loader in /lib/ld-linux-*.so.1 /lib64/ld-linux-*.so.2; do
    [ -x "$loader" ] || continue
    run 86 "$loader" "$program" lost-wakeup
    says "^  program $(basename "$program"), process"
    break
done

# With few descriptors: what is said is true.
sh -c 'ulimit -n 8; exec "$@"' sh timeout "$patience" "$gordian" run "$program" lost-wakeup >stdout 2>stderr
is $? 86 'exit status with 8 descriptors'
says 'deadlock'
never_says 'no memory'
never_says 'not an incident'
never_says 'there is no process'

# Where looking from outside is not allowed, the watcher's own looks stand, and that is said. Root may look always.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    chmod 755 .
    mkdir -m 777 theirs
    copy=$scratch/copy
    cp "$program" "$copy" && chmod 755 "$copy"
    nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
    # The command and what lies beside it may be out of their reach, as in root's home. A shell of theirs is asked:
    # setpriv itself can still go anywhere.
    # shellcheck disable=SC2086,SC2016
    if $nobody sh -c 'test -x "$1"' sh "$gordian"; then
        TMPDIR=$scratch/theirs timeout "$patience" $nobody "$gordian" run "$copy" hidden >stdout 2>stderr </dev/null
        is $? 86 'exit status of a hidden program'
        says 'Not confirmed from outside (process [0-9]* may not be inspected'
    fi
    # A reporter of theirs may not look at it; the command may, and does it for it.
    run 86 "$copy" dropped
    never_says 'Not confirmed'
fi

run 2 --on-hang soon "$program" plain
run 2 --on-likely maybe "$program" plain
finish
