#!/bin/sh
# What cannot be inspected: one message each, with what to do, and exit status 2.
#
#     trouble.sh GORDIAN HUNG
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
hung=$(absolute "$2")
enter_scratch

# refuses WHAT MESSAGE OPERAND...
refuses()
{
    what=$1
    message=$2
    shift 2
    timeout $patience "$gordian" inspect "$@" >output 2>stderr
    is $? 2 "$what: exit status"
    is "$(wc -l <stderr)" 1 "$what: lines of complaint"
    has "$(cat stderr)" "$message" "$what"
}

"$gordian" inspect >output 2>stderr
is $? 2 'nothing to do: exit status'
has "$(cat stderr)" 'nothing to inspect: name a process or a core dump' 'nothing to do'
refuses 'no such process' 'there is no process' 2147480000
refuses 'no such file' 'No such file' nowhere.core
printf 'text\n' >text
refuses 'text' 'is not a core file' text
refuses 'a program' 'is a program, not a core' "$hung"
printf '\177ELF\001\001\001' >small
head -c 200 /dev/zero >>small
refuses 'a core of 32 bits' '32-bit' small
refuses 'a kernel thread' 'is a kernel thread' 2

# A zombie: its parent does not ask for it.
python3 - >zombie <<'END' &
import os, sys, time
child = os.fork()
if child == 0:
    os._exit(0)
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
print(child, flush=True)
time.sleep(3600)
END
wait_for 'a zombie' test -s zombie
refuses 'a zombie' 'is a zombie' "$(cat zombie)"

# A process, a thread of it, its core.
(
    # shellcheck disable=SC3045 # every sh of Linux has it
    ulimit -c unlimited
    exec "$hung" mutex-normal
) &
process=$!
timeout $patience "$gordian" inspect --quiet --watch 0.01 $process >output 2>stderr
is $? 1 'the deadlock'
for thread in "/proc/$process/task"/*; do
    thread=${thread##*/}
    [ "$thread" = "$process" ] || refuses 'a thread' "is a thread of process $process" "$thread"
done
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    cp "$gordian" copy && chmod 755 copy . 2>/dev/null
    setpriv --reuid 65534 --clear-groups ./copy inspect $process >output 2>stderr
    is $? 2 'no rights: exit status'
    has "$(cat stderr)" 'belongs to user 0: inspect it as that user or as root' 'no rights'
fi

# One that is stopped is found once it goes on. Before, on x86-64 the kernel still tells what it was stopped
# in, and the words of its locks tell that it would sleep again; elsewhere nothing can be said.
# shellcheck disable=SC2317 # called by wait_for
all_stopped()
{
    ! grep -L '^State:[[:space:]]*T' "/proc/$process/task"/*/status | grep -q .
}
kill -STOP $process
wait_for 'the stop' all_stopped
"$gordian" inspect $process >output 2>stderr
status=$?
if [ "$(uname -m)" = x86_64 ]; then
    is $status 1 'a stopped process: exit status'
    has "$(cat output)" 'deadlock, proved' 'a stopped process'
else
    is $status 5 'a stopped process: exit status'
    has "$(cat output)" 'stopped from outside' 'a stopped process'
    has "$(cat output)" ' 0 run, ' 'a stopped process: its threads do not run'
    has "$(cat output)" ' are stopped' 'a stopped process: how many'
    "$gordian" inspect --json $process >output 2>/dev/null
    is $? 5 'a stopped process, as JSON: exit status'
    has "$(tail -n 1 output)" '{"report":"incomplete","unread_processes":0,"stopped_threads":' 'a stopped process, as JSON'
fi
kill -CONT $process
timeout $patience "$gordian" inspect --quiet --watch 0.01 $process >output 2>stderr
is $? 1 'a stopped process that goes on'

# One that ends while it is watched: between two looks.
# shellcheck disable=SC2317 # called by wait_for
pauses()
{
    grep -qE '^(230|115) ' "/proc/$1/syscall" # clock_nanosleep
}
"$hung" sound-pipe >said &
victim=$!
wait_for 'a sound process' grep -q ready said
"$gordian" inspect --watch 0.5 $victim >output 2>stderr &
watcher=$!
wait_for 'the watcher to have looked' pauses $watcher
kill -9 $victim
wait $watcher
is $? 2 'a process that ends meanwhile: exit status'
has "$(cat stderr)" "$victim" 'a process that ends meanwhile'

kill -ABRT $process
wait $process 2>/dev/null
for file in core "core.$process"; do
    [ ! -s "$file" ] || mv "$file" whole.core
done
if [ -s whole.core ]; then
    "$gordian" inspect --verbose whole.core >output 2>stderr
    is $? 1 'the core'
    has "$(cat stderr)" ' MB of the core dump' 'how much was read'
    refuses 'a core of another program' 'is not a core of' whole.core --exe "$gordian"
    "$gordian" inspect --quiet whole.core --exe "$hung" >output 2>stderr
    is $? 1 'the core, with its program'
    head -c 1000 whole.core >start.core
    refuses 'a core without its notes' 'is truncated' start.core
    size=$(stat -c %s whole.core)
    head -c $((size / 2)) whole.core >half.core
    "$gordian" inspect half.core >output 2>stderr
    check 'half a core: what can be told' test $? -le 1
    has "$(cat stderr)" 'the core dump is truncated' 'half a core'
fi
finish
