#!/bin/sh
# The options of `gordian run`, end to end.
#
#     modes.sh GORDIAN PROGRAM LIBRARY [STATIC-PROGRAM [SANITIZED-PROGRAM]]
set -u

gordian=$(realpath "$1")
program=$(realpath "$2")
library=$(realpath "$3")
static=${4:+$(realpath "$4")}
sanitized=${5:+$(realpath "$5")}
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
enter_scratch

# run EXPECTED-STATUS ARGUMENT...: output in the files stdout and stderr.
run()
{
    expected=$1
    shift
    timeout $patience "$gordian" run "$@" >stdout 2>stderr
    status=$?
    check "exit status $status instead of $expected: run $*" test $status -eq "$expected"
}

says()
{
    check "says '$1'" grep -q -- "$1" stderr
}

silent()
{
    check "says nothing" test ! -s stderr
}

# hangs: the program that writes to stdout has three threads, and all of them sleep.
hangs()
{
    program_pid=$(sed -n 's/^[a-z]* //p' stdout)
    asleep "${program_pid:-none}" 3
}

# hold ARGUMENT...: the same in the background, and `slow` keeps the lock until let_go.
hold()
{
    : >stdout
    "$gordian" run "$@" "$program" slow <held >stdout 2>stderr &
    exec 9>held
}

let_go()
{
    exec 9>&-
    wait $!
    is $? 0 'exit status when the lock is let go'
}

# What then.
run 86 "$program" deadlock
says '^gordian: deadlock 1: 2 threads wait for each other'
says 'The program ends now'
says '^gordian run: 1 deadlock; watched'
run 86 --on-deadlock=break "$program" deadlock
says 'returns EDEADLK'
says '1 deadlock, 1 broken'
"$gordian" run --on-deadlock=report "$program" deadlock >stdout 2>stderr &
wait_for 'the report' grep -q '^gordian: deadlock 1' stderr
wait_for 'it to hang on' hangs
check 'report goes on' alive "$program_pid"
kill $!
wait $! 2>/dev/null

# Potential ones: told once, counted, and no reason for another exit status.
run 0 "$program" orders 4
says '^gordian: potential deadlock 1: two locks are taken in both orders'
says '^gordian run: potential deadlock 1 occurred [2-9]'
says '^gordian run: 1 potential deadlock; watched 2 locks'
run 0 --no-potential "$program" orders 4
says '^gordian run: no deadlock; watched 2 locks'
run 0 --quiet --no-potential "$program" orders 4
silent
run 0 "$program" again
check "told once" test "$(grep -c '^gordian: potential' stderr)" -eq 1
says '^gordian run: potential deadlock 1 occurred 2 times'

# Suppressions: counted, and they take nothing else.
printf 'potential forwards backwards\n' >list
run 0 --suppress list "$program" orders 4
says '^gordian run: list:1 suppressed'
check "the report is left out" test "$(grep -c '^gordian:' stderr)" -eq 0
printf 'potential forwards nothing_else\npotential nowhere.c:*\n' >list
run 0 --suppress list "$program" orders 1
says '^gordian: potential deadlock 1:'
printf 'any forwards backwards\n' >list
run 86 --suppress list "$program" deadlock
says '^gordian: deadlock 1:'

# A stall is no deadlock.
mkfifo held
hold --stall 0.3
wait_for 'the stall' grep -q '^gordian: stall 1: forwards has waited' stderr
let_go
says '^gordian run: 1 stall'

# Files.
run 86 --quiet --json r.json --dot g.dot --svg g.svg --trace t.trace --output text "$program" deadlock
silent
check "text in a file" grep -q '^gordian: deadlock 1' text
check "JSON" grep -q '"kind":"deadlock","number":1' r.json
check "DOT" grep -q '^digraph' g.dot
check "SVG" grep -q '^</svg>' g.svg
"$gordian" detect t.trace >/dev/null
check "the trace replays" test $? -eq 1
run 4 --svg "$scratch/no/such/folder.svg" "$program" deadlock
check "not run at all" test ! -s stdout

# A hook sees the program while it hangs.
run 86 --quiet --exec "cat /proc/\$GORDIAN_REPORT_PID/stat >hook; cat >hook.json" "$program" deadlock
check "the hook's process" grep -q '(modes' hook
check "the hook's report" grep -q '"kind":"deadlock"' hook.json

# Children, and programs that are executed.
run 86 "$program" fork
says '^gordian: deadlock 1'
run 86 "$program" exec "$program" deadlock
says '^gordian: deadlock 1'
# Found from outside it would end with 86, if that is sooner.
"$gordian" run --no-follow --on-deadlock=report "$program" exec "$program" deadlock >stdout 2>stderr &
wait_for 'the hang' hangs
ends_with TERM 143 'not followed'

# The status of a running program, from outside and by a signal.
hold --on-deadlock=report
# shellcheck disable=SC2317 # wait_for calls it
waits()
{
    pid=$(sed -n 's/^slow //p' stdout)
    rm -f status.json
    "$gordian" run --status "${pid:-none}" --json status.json >status 2>status.err &&
        grep -q 'forwards ── waits for ─▶ first ── held by ─▶ main' status
}
wait_for 'the status' waits
check "status as JSON" grep -q '"kind":"status"' status.json
kill -USR2 "$pid"
wait_for 'the status by a signal' grep -q '^gordian: status: 1 of 2 threads wait' stderr
let_go

# Without the command, as a service would.
LD_PRELOAD=$library GORDIAN_TOOL=$gordian GORDIAN_JSON=$scratch/service.json timeout $patience "$program" deadlock \
    >stdout 2>stderr
check "as a service: $?" test -s service.json
says '^gordian: deadlock: 2 threads'
LD_PRELOAD=$library GORDIAN_RUN=0 "$program" deadlock >stdout 2>stderr &
wait_for 'the hang' hangs
ends_with TERM 143 'switched off'
silent

# What cannot be watched runs all the same, or not, as told; a script is as good as its interpreter.
if [ -n "$static" ]; then
    run 0 "$static" orders 1
    says "cannot watch '$static': it is statically linked; it runs unwatched, and hangs are detected only from outside"
    run 3 --on-unwatchable=stop "$static" orders 1
    printf '#!%s orders\n' "$static" >script
    chmod +x script
    run 3 --on-unwatchable=stop ./script
    says "$static is statically linked"
    run 0 --quiet "$static" orders 1
    silent
fi
if [ -n "$sanitized" ]; then
    run 3 --on-unwatchable=stop "$sanitized" mutex 1000
    says 'ThreadSanitizer inside'
fi
cp "$program" foreign
printf '\002\000' | dd of=foreign bs=1 seek=18 conv=notrunc 2>/dev/null # a SPARC's
run 3 --on-unwatchable=stop ./foreign orders 1
says "'./foreign': it is for another processor, and this gordian for "
if [ "$(id -u)" -eq 0 ]; then # somebody else's, with his rights
    cp "$program" raised
    chown 65534 raised
    chmod u+s raised
    run 3 --on-unwatchable=stop ./raised orders 1
else
    run 3 --on-unwatchable=stop "$(command -v su)" --version
fi
says 'runs with raised privileges'
if command -v python3 >/dev/null; then
    printf '#!/usr/bin/env python3\nprint("watched")\n' >script
    run 0 --on-unwatchable=stop ./script
    check "a script is watched" grep -q watched stdout
fi

finish
