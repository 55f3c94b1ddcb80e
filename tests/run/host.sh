#!/bin/sh
# The watched program does what it does unwatched, and the variables do what they say.
#
#     host.sh LIBRARY HOST MATRIX NAME_LOCK
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
library=$(absolute "$1")
host=$(absolute "$2")
matrix=$(absolute "$3")
name_lock=$(absolute "$4")
enter_scratch

# watched COMMAND...: without a reporter; what it says is in the file stderr.
watched()
{
    LD_PRELOAD=$library GORDIAN_TOOL="${tool:-}" timeout $patience "$@" >stderr 2>&1
}

# says TEXT: the last program said so; quiet: it said nothing but "ok"s.
says()
{
    grep -q -e "$1" stderr
}

silent()
{
    [ "$(sort -u stderr)" = ok ]
}

for name in $("$host"); do
    tool=/bin/false watched "$host" "$name"
    status=$?
    if [ "$name" = no-trace ]; then
        check "$name" says '^ok$'
    elif [ $status -ne 0 ]; then
        bad "$name: exit status $status"
    else
        check "$name" silent
    fi
done

# Off altogether.
GORDIAN_RUN=0 watched "$matrix" order-abba
check 'GORDIAN_RUN=0 should say nothing' test ! -s stderr

# Without lock orders, without sites.
GORDIAN_POTENTIAL=0 watched "$matrix" order-abba
check 'GORDIAN_POTENTIAL=0 should say nothing' test ! -s stderr
GORDIAN_SITES=0 watched "$matrix" abbcca
check 'GORDIAN_SITES=0 should end with 86' test $? -eq 86
check 'GORDIAN_SITES=0 should name the threads' says 'holds mutex'

# Break: the call answers, and the program goes on.
GORDIAN_ON_DEADLOCK=break watched "$matrix" twice-robust
status=$?
check "break: exit status $status" test $status -eq 0
check 'break: should report' says 'deadlock in process'

# Report: it is told, and hangs on. (What was said before is not what is waited for.)
: >stderr
LD_PRELOAD=$library GORDIAN_TOOL='' GORDIAN_ON_DEADLOCK=report "$matrix" abbcca >stderr 2>&1 &
wait_for 'the report' says 'deadlock in process'
ends_with TERM 143 'report: goes on'
check 'report: should report once' test "$(grep -c 'deadlock in process' stderr)" -eq 1

# Stall: a wait that takes long.
LD_PRELOAD=$library GORDIAN_TOOL='' GORDIAN_STALL=0.1 GORDIAN_ON_DEADLOCK=report \
    "$matrix" twice-spin >stderr 2>&1 &
wait_for 'the stall to be told' says 'a wait takes a long time'
ends_with TERM 143 'stall: goes on'

# Status: asked by a signal.
LD_PRELOAD=$library GORDIAN_TOOL='' GORDIAN_STATUS_SIGNAL=12 GORDIAN_ON_DEADLOCK=report \
    "$matrix" abbcca >stderr 2>&1 &
process=$!
wait_for 'the mapping' grep -q 'gordian-status-12' "/proc/$process/maps"
kill -12 $process
wait_for 'the status to be told' says '^gordian: status in process'
kill -9 $process
wait $process 2>/dev/null

# Names given to locks.
watched "$name_lock" relock
check 'name: should be in the report' says 'mutex .*"the accounts"'
watched "$name_lock"
check 'name: nothing to say' test ! -s stderr
"$name_lock" >stderr 2>&1
check 'name: unwatched' test $? -eq 0

# Programs started from the watched one, and not.
cat >./script <<'END'
#!/bin/sh
"$1" order-abba
END
chmod +x ./script
watched ./script "$matrix"
check 'exec: should be followed' says 'potential deadlock'
GORDIAN_FOLLOW=0 watched ./script "$matrix"
check 'GORDIAN_FOLLOW=0 should not be followed' test ! -s stderr
LD_PRELOAD="$library libm.so.6" GORDIAN_FOLLOW=0 sh -c 'echo "$LD_PRELOAD"' >stderr 2>&1
check 'GORDIAN_FOLLOW=0 should leave others in LD_PRELOAD' says '^libm.so.6$'

# A table that is full switches the watcher off, with one message, and the program goes on.
GORDIAN_MAX_THREADS=100 watched "$host" crowd
check 'full table: exit status' test $? -eq 0
check 'full table: should go on' says '^ok$'
check 'full table: one message' test "$(grep -c 'not watching' stderr)" -eq 1
GORDIAN_MAX_THREADS=100 GORDIAN_QUIET=1 watched "$host" crowd
check 'GORDIAN_QUIET=1 should say nothing' silent

# With standard error closed, and without anywhere to write.
watched sh -c 'exec 2>&-; "$0" abbcca; echo $?' "$matrix"
check 'closed stderr: should end with 86' says '^86$'
watched sh -c 'exec 3>&- 4>&- 5>&- 6>&-; ulimit -n 4; "$0" twice-adaptive; echo $?' "$matrix"
check 'no descriptors: should end with 86' says '^86$'
watched sh -c 'ulimit -v 60000; "$0" early-constructor' "$host"
check 'little memory: should go on' says '^ok$'
finish
