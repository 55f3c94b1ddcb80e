# What the shell tests share, for sh and bash; to be sourced at the start:
#
#     . "$(dirname "$0")/../shell.sh"
#     gordian=$(absolute "$1")
#     enter_scratch
#     check 'what it should do' COMMAND...
#     finish
#
# Everything below that looks at `gordian` wants its path in $gordian.

# nohup, and a caller in the background, leave signals ignored, and no shell can undo that: the test
# begins again with all of them as usual.
if [ -z "${GORDIAN_TEST_SIGNALS-}" ] && grep -q '^SigIgn:.*[1-9a-f]' /proc/self/status 2>/dev/null; then
    export GORDIAN_TEST_SIGNALS=usual
    if env --default-signal true 2>/dev/null; then
        exec env --default-signal "${BASH:-sh}" "$0" "$@"
    fi
    exec python3 -c 'import os, signal, sys
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])' "${BASH:-sh}" "$0" "$@"
fi
LC_ALL=C.UTF-8
export LC_ALL
# Looking for leaks at every exit can take seconds each, and fails where a library was loaded on the way; the
# tests in C do it.
case ${ASAN_OPTIONS-} in
*detect_leaks=1*) ;;
*) export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" ;;
esac
ulimit -S -c 0
# Seconds after which something hangs, however slow the machine is.
patience=600
passed=0
failed=0

# ---- where

# absolute PATH
absolute()
{
    case $1 in
    /*) echo "$1" ;;
    *) echo "$PWD/$1" ;;
    esac
}

# Makes an empty folder, $scratch, and goes there. In the end it is removed, and what still runs in
# the background is killed.
enter_scratch()
{
    scratch=$(mktemp -d) || exit 1
    trap leave_scratch EXIT
    trap 'exit 1' HUP INT TERM
    cd "$scratch" || exit 1
    mpirun_apart "$scratch"
}

# Open MPI's runs make and remove one folder for all of a user's, and fail where two do at the same moment:
# mpirun_apart FOLDER gives them one of their own.
mpirun_apart()
{
    export OMPI_MCA_orte_tmpdir_base="$1" PRTE_MCA_prte_tmpdir_base="$1"
}

leave_scratch()
{
    jobs >/dev/null # forgets those that have ended
    jobs -p >"$scratch/.jobs"
    while read -r job; do
        kill -9 "$job" 2>/dev/null
        wait "$job" 2>/dev/null
    done <"$scratch/.jobs"
    cd / && rm -rf "$scratch"
}

# on_path NAME PROGRAM: the program is found under that name.
on_path()
{
    mkdir -p "$scratch/.bin"
    ln -s "$2" "$scratch/.bin/$1"
    PATH=$scratch/.bin:$PATH
    export PATH
}

# need PROGRAM...: the test is skipped where one of them is not installed.
need()
{
    for program; do
        if ! command -v "$program" >/dev/null; then
            echo "skipped: $program is not installed"
            exit 77
        fi
    done
}

# is_built COMMAND: was `gordian` built with it?
is_built()
{
    ! "$gordian" help "$1" | grep -q 'built without'
}

# ---- counting

good()
{
    passed=$((passed + 1))
}

bad()
{
    failed=$((failed + 1))
    echo "failed: $*" >&2
}

# check WHAT COMMAND...: does it succeed? Shows what it said if not, and the file stderr if there is
# one.
check()
{
    what=$1
    shift
    if "$@" >check.out 2>&1; then
        good
    else
        bad "$what"
        sed 's/^/    /' check.out >&2
        [ ! -e stderr ] || sed 's/^/    /' stderr >&2
    fi
}

# is TEXT WANTED WHAT
is()
{
    if [ "$1" = "$2" ]; then good; else bad "$3: expected '$2', got '$1'"; fi
}

# has TEXT PART WHAT
has()
{
    case $1 in
    *"$2"*) good ;;
    *) bad "$3: expected '$2' in: $(printf %.600s "$1")" ;;
    esac
}

has_not()
{
    case $1 in
    *"$2"*) bad "$3: did not expect '$2' in: $(printf %.600s "$1")" ;;
    *) good ;;
    esac
}

# wait_for WHAT COMMAND...: until it succeeds, for as long as a slow machine may take.
wait_for()
{
    what=$1
    shift
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        if [ $tries -gt $((patience * 20)) ]; then
            bad "waited for $what in vain"
            return 1
        fi
        sleep 0.05
    done
}

# ends_with SIGNAL STATUS WHAT: the process $! still runs, is sent the signal, and ends so.
ends_with()
{
    kill -"$1" $!
    wait $! 2>/dev/null
    is $? "$2" "$3"
}

# One that nobody has waited for yet is dead all the same; one whose first thread has ended is not.
alive()
{
    grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1"/task/*/status 2>/dev/null
}

dead()
{
    ! alive "$1"
}

# asleep PID THREADS: it has that many threads, and none of them runs.
asleep()
{
    [ "$(cat "/proc/$1"/task/*/status | grep -c '^State:[[:space:]]*S')" -eq "$2" ] &&
        [ "$(cat "/proc/$1"/task/*/status | grep -c '^State:')" -eq "$2" ]
}

finish()
{
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ] && [ $passed -gt 0 ]
    exit
}

# ---- a service

# serve OPTION...: a service on the Unix socket `socket`, process $server; what it says is in `log`.
serve()
{
    : >log
    "$gordian" serve --socket "$scratch/socket" "$@" >>log 2>&1 &
    server=$!
    wait_for 'the service' grep -q 'ready' log || { cat log >&2; exit 1; }
}

# It ends in order, with nothing to complain about for a sanitizer.
stop()
{
    kill "$server"
    wait "$server"
    is $? 0 "the service's exit status: $(tail -n 20 log)"
}

kill_service()
{
    kill -9 "$server"
    wait "$server" 2>/dev/null
}
