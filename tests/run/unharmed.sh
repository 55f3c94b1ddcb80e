#!/bin/sh
# A watched program works as natively: the same output, the same end, nothing reported, and hardly
# slower.
#
#     unharmed.sh GORDIAN LIBRARY UNHARMED CONFINED HANGS
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
library=$(absolute "$2")
unharmed=$(absolute "$3")
confined=$(absolute "$4")
hangs=$(absolute "$5")
enter_scratch
scale=${GORDIAN_TEST_SCALE:-100}

# same_program PROGRAM ARGUMENT...: natively and watched.
same_program()
{
    timeout $patience "$@" >native 2>&1
    echo $? >>native
    timeout $patience "$gordian" run --quiet --on-unwatchable=stop -- "$@" >watched 2>&1
    echo $? >>watched
    cmp -s native watched || diff native watched
}

same()
{
    same_program "$unharmed" "$@"
}

# Thread-specific keys, and what ends a thread.
for name in all-keys destructors late-unlock main-leaves; do
    check "$name" same $name
done

# Thousands of threads on one condition, hundreds of thousands of locks: what every wait does must not
# grow with them. It took fifty times the processor's time once; a tenfold is far from both.
threads=$((scale * 20))
[ $threads -gt 1000 ] || threads=1000
[ $threads -lt 5000 ] || threads=5000
UNHARMED_CPU=native.cpu "$unharmed" crowd $threads >native
if [ $? -ne 77 ]; then # so many threads are allowed
    UNHARMED_CPU=watched.cpu "$gordian" run --quiet -- "$unharmed" crowd $threads >watched 2>&1
    check 'crowd' cmp native watched
    check "crowd: $(cat watched.cpu) ms for $(cat native.cpu)" \
        test "$(cat watched.cpu)" -lt $(($(cat native.cpu) * 10 + 500))
fi
check 'many locks' same locks 400000
check 'many holds' same holds 1000

# Memory that ends is told, and the program goes on.
LD_PRELOAD=$library GORDIAN_TOOL='' sh -c 'ulimit -v 500000 && exec "$0" locks 2000000' "$unharmed" \
    >watched 2>&1
check 'memory ends: exit status' test $? -eq 0
check 'memory ends: said' grep -q 'not watching: .*memory' watched
check 'memory ends: goes on' grep -q '^over$' watched

# The library has one way to the kernel (src/sources/run/start/sandbox.h): none of these is libc's.
if command -v nm >/dev/null; then
    nm -D --undefined-only "$library" >imports
    check 'no system calls past the gate' \
        test "$(grep -cwE '(syscall|prctl|getrusage|getrlimit|nanosleep|clock_nanosleep|usleep|gettid|getpid|kill|fork)(@.*)?' imports)" -le 1
fi

# Programs that end for a system call too many.
"$confined" ends prctl >native
if [ $? -ne 77 ]; then # filters are to be had
    for how in prctl seccomp; do
        for name in locks ends child; do
            check "confined: $name by $how" same_program "$confined" $name $how
        done
        "$gordian" run --quiet -- "$confined" deadlock $how >watched 2>&1
        check "confined: deadlock by $how: exit status" test $? -eq 86
        check "confined: deadlock by $how: report" grep -q 'confined\.c:' watched
        LD_PRELOAD=$library "$confined" deadlock $how >watched 2>&1
        check "confined: deadlock by $how without the command" grep -q '^gordian: deadlock' watched
    done
    # In another one, which lets the library work: `gordian run` has found out.
    cat >around.py <<'END'
import ctypes, os, struct, sys
# Everything is allowed, but for one call that nobody makes.
code = struct.pack("HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, 104, 6, 0, 0, 0x80000000, 6, 0, 0, 0x7fff0000)
text = ctypes.create_string_buffer(code, len(code))
program = struct.pack("HxxxxxxP", 4, ctypes.addressof(text))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0) != 0:
    sys.exit(77)
os.execvp(sys.argv[1], sys.argv[1:])
END
    if command -v python3 >/dev/null; then
        python3 around.py "$gordian" run --quiet -- "$hangs" condition-outer >watched 2>&1
        check 'inside a filter: everything is found' test $? -eq 86
    fi
fi

# answers PID: asked for its status, it answers by itself; a slow machine may be too late for that.
# shellcheck disable=SC2317 # called by wait_for
answers()
{
    "$gordian" run --status "$1" >status 2>&1
    ! grep -q 'did not answer' status
}

# A program that gives up its privileges: its reports go where the command was told, whoever may write
# there, and it answers.
if [ "$(id -u)" -eq 0 ]; then
    mkdir kept
    chmod 700 kept
    chmod 711 .
    "$gordian" run -o kept/text --json kept/json --svg kept/svg --suppress /dev/null -- \
        "$unharmed" dropped >watched 2>&1
    check 'dropped: exit status' test $? -eq 86
    check 'dropped: text' grep -q 'unharmed\.c:' kept/text
    check 'dropped: JSON' grep -q '"kind"' kept/json
    check 'dropped: picture' grep -q '<svg' kept/svg
    check 'dropped: counted' grep -q '1 deadlock; watched 2 locks' watched
    : >watched # what is in it from before would be taken for its word
    "$gordian" run --quiet -- "$unharmed" dropped 2 >watched 2>&1 &
    wait_for 'nobody' grep -q nobody watched
    program=$(pgrep -P $! 2>/dev/null || cat "/proc/$!/task/$!/children")
    wait_for 'dropped: an answer from inside' answers "${program%% *}"
    check "dropped: status: $(cat status)" grep -q 'dropped .*unharmed\.c:' status
    : >go
    wait $!
    check 'dropped: exit status after that' test $? -eq 86
fi

# handles HOW NUMBER [COMMAND...]: a signal that is HOW at the start, sent to the command (to the
# program itself natively), reaches the program that handles it, and the program finds it as it was.
handles()
{
    how=$1
    number=$2
    shift 2
    for watched in '' "$gordian run --quiet --"; do
        : >said
        # shellcheck disable=SC2086 # a list of words, or none
        env --$how-signal="$number" $watched "$unharmed" own-handler "$number" >said 2>&1 &
        process=$!
        wait_for 'the handler' test -s said
        kill -s "$number" $process
        wait_for 'the end of the program' dead $process
        wait $process
        echo $? >>said
        mv said "said${watched:+.watched}"
        [ -n "$watched" ] || mv said said.native
    done
    cmp -s said.native said.watched || diff said.native said.watched
}

if env --ignore-signal=2 true 2>/dev/null; then
    for signal in 1 2 3 10 15; do
        check "a signal ignored at the start: $signal" handles ignore $signal
        check "a signal blocked at the start: $signal" handles block $signal
    done
    # The end of the program is told with SIGCHLD ignored, too.
    env --ignore-signal=CHLD "$gordian" run --quiet -- sh -c 'exit 9'
    check 'SIGCHLD ignored: exit status' test $? -eq 9
fi
finish
