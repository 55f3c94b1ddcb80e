#!/bin/sh
# Sentences of reports that were untrue: each is looked for where it was printed.
#
#     words.sh GORDIAN HANG SOUND PYTHON
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
hang=$(absolute "$2")
sound=$(absolute "$3")
python=$(absolute "$4")
enter_scratch

# shellcheck disable=SC2317 # called by wait_for
found()
{
    "$gordian" inspect --stop-ms 10000 "$process" >output 2>stderr
    [ $? -eq 1 ] && grep -q "$1" output
}

never_says()
{
    check "$2: does not say \"$1\"" test "$(grep -c -e "$1" output)" -eq 0
}

start()
{
    : >said
    "$@" >said 2>&1 </dev/null &
    process=$!
}

stop()
{
    kill -9 "$process"
    wait "$process" 2>/dev/null
}

# All threads that wait behind are counted, not only those that are listed.
start "$hang" behind-mutex-400
wait_for 'all threads behind' found '; 401 more wait behind'
stop

# The cycle of priority-inheritance mutexes is what is to be mended, not the join of the main thread.
start "$hang" abba-inherit-inherit
wait_for 'the cycle' found 'What to do'
has "$(cat output)" 'in the same order everywhere' 'priority inheritance: advice'
never_says 'before joining it' 'priority inheritance'
stop

# The owner of a shared lock: a process that is not inspected, or none any more.
# shellcheck disable=SC2317 # called by wait_for
says_owner()
{
    "$gordian" inspect --stop-ms 10000 "$process" >output 2>stderr
    code=$?
    grep -q "$1" output
}
start "$sound" other-holds
wait_for 'the owner that lives' says_owner 'is not inspected: inspect its process as well'
is "$code" 5 'the owner that lives: exit status'
has "$("$gordian" inspect --json "$process" 2>stderr | tail -n 1)" '"unseen_threads":1}' \
    'the owner that lives, as JSON'
kill -9 "$(cat "/proc/$process/task/$process/children")"
wait_for 'the owner that has ended' says_owner 'has ended: another process may still unlock it'
never_says 'inspect its process' 'an owner that has ended'
stop

# A rwlock that is held for reading.
start "$hang" abba-read-read idle
wait_for 'a rwlock that is held for reading' says_owner \
    'unknown: thread [0-9]* waits for a rwlock that is held for reading'
stop

# Stacks are searched for holders up to so many threads.
start "$hang" behind-read-4200 idle
wait_for 'too many threads' says_owner 'holder is unknown: the process has too many threads'
is "$code" 5 'too many threads: exit status'
stop

# Queues that are full, and a pool without a free worker, have lost no wakeup.
if [ -x /usr/bin/python3 ]; then
    for name in full-queues starved-pool; do
        start /usr/bin/python3 "$python" $name
        wait_for "$name" found 'wait for signals of each other'
        never_says 'wakeup is lost' $name
        never_says 'so that no signal is lost' $name
        stop
    done
fi

# Threads are stopped at times.
"$gordian" inspect --help >output 2>stderr
never_says 'without stopping' 'inspect --help'
has "$(cat output)" '--stop-ms' 'inspect --help: what limits a stop'

# A process of the tree that may not be read may be the one that acts: nothing found is not all clear.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && [ -x /usr/bin/python3 ]; then
    cp "$gordian" copy && chmod 755 copy . 2>/dev/null
    start /usr/bin/python3 -c '
import ctypes, os, signal
if os.fork() == 0:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    signal.pause()
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
ctypes.CDLL(None).prctl(4, 1)
print("ready", flush=True)
signal.pause()'
    wait_for 'the tree' grep -q ready said
    setpriv --reuid 65534 --regid 65534 --clear-groups ./copy inspect --tree "$process" >output 2>stderr
    is $? 5 'a child that may not be read: exit status'
    has "$(cat stderr)" 'the scan is incomplete: 1 process could not be read' 'a child that may not be read'
    "$gordian" inspect --tree "$process" >output 2>stderr
    is $? 0 'a child that may be read: exit status'
    stop
fi

# The same for --all, as a user that has one process: those of the others may not be read.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    cp "$gordian" copy && chmod 755 copy . 2>/dev/null
    user='setpriv --reuid 64321 --regid 64321 --clear-groups'
    # shellcheck disable=SC2086 # words
    start $user sh -c 'echo ready; exec sleep 3600'
    wait_for 'a process of the user' grep -q ready said
    $user ./copy inspect --all >output 2>stderr
    is $? 5 'processes of others: exit status'
    has "$(cat stderr)" 'the scan is incomplete: ' 'processes of others'
    has "$(cat stderr)" 'belongs to user ' 'processes of others: why'
    $user ./copy inspect --all --json >output 2>stderr
    is $? 5 'processes of others, JSON: exit status'
    has "$(tail -n 1 output)" '"report":"incomplete"' 'processes of others, JSON'
    has "$(tail -n 1 output)" 'belongs to user ' 'processes of others, JSON: why'
    stop
fi
finish
