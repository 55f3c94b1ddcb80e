#!/bin/sh
# Programs that hang, and sound ones, looked at alive, in cores from the kernel, in cores from gcore.
#
#     hung.sh GORDIAN PROGRAM [NAME...]
#
# PROGRAM --list tells what to expect (see hung.h). A hang is waited for by looking until it is found;
# a sound program says when it is there, and is looked at many times.
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
program=$(absolute "$2")
shift 2
enter_scratch
scale=${GORDIAN_TEST_SCALE:-100}
looks=$((scale / 5 + 3))
[ "$scale" -ge 10 ] || HUNG_WITHOUT_GCORE=1 # gdb takes its time
every=$((scale >= 10 ? 1 : 3)) # in a short run every third of the programs
[ "$scale" -ge 100 ] || every=$((every * ${HUNG_EVERY:-1}))
every_gcore=$((scale >= 100 ? 1 : 4))
number=0

# field FILE NAME: the value of a key at the top of the first report.
field()
{
    sed -n "1s/^[^[]*\"$2\":\"\([^\"]*\)\".*/\1/p" "$1"
}

# How many threads of the witness wait.
members()
{
    head -n 1 "$1" | grep -o '"waiter":"[^}]*"witness":true' | grep -c .
}

# judge FILE STATUS WORD HOW: is this what was to be found?
judge()
{
    if [ "$3" = nothing ]; then
        is "$2" 0 "$name, $4: exit status"
        return
    fi
    is "$2" 1 "$name, $4: exit status"
    said=$(field "$1" verdict)
    # Locks of older libraries are words like any other, which a handler might post: in a core likely.
    [ "$said $4" = 'likely alive' ] || [ "$said" != likely ] || [ -z "${HUNG_OLDER_LOCKS-}" ] || said=$3
    # Where libc's pthread_once has no name of its own (x86-64), it is a word like any other.
    [ "$said $name" != 'likely once' ] || [ "$4" = alive ] || ! grep -q '"kind":"futex"' "$1" || said=$3
    is "$said" "$3" "$name, $4: word"
    is "$(field "$1" kind)" "$verdict" "$name, $4: verdict"
    is "$(members "$1")" "$count" "$name, $4: who waits"
}

# Locks have the names of their variables, not of what is inside them.
judge_names()
{
    check "$name, $1: names" test "$(grep -c '"name":"[A-Za-z]*\.\(inner\|raw\|state\|futex\)' report)" -eq 0
}

# How the trace of a finding is judged by the engine that knows nothing of threads.
judge_trace()
{
    "$gordian" check --quiet trace >/dev/null 2>&1
    is $? 1 "$name, $1: its trace"
}

look_at_core()
{
    "$gordian" inspect --json --trace trace "$2" >report 2>stderr
    judge report $? "$core" "$1"
    [ "$core" = nothing ] || judge_trace "$1"
    rm -f "$2"
}

# The process whose locks matter: the program, or the child that it names.
find_process()
{
    process=$!
    if [ "$name" = mutex-fork ]; then
        wait_for 'the child' grep -q '^child' said
        process=$(sed -n 's/^child //p' said)
    fi
}

look_alive()
{
    if [ "$live" != nothing ]; then
        timeout $patience "$gordian" inspect --json --watch 0.01 --stop-ms 10000 --trace trace --core own.core \
            "$process" >report 2>stderr
        status=$?
        judge report $status "$live" alive
        judge_names alive
        [ $status -ne 124 ] || finish # the others would take as long
        judge_trace alive
        look_at_core 'its own core' own.core
        return
    fi
    wait_for "$name" grep -q ready said
    found=0
    for look in $(seq "$looks"); do
        "$gordian" inspect --json --stop-ms 10000 "$process" >report 2>stderr
        case $? in
        0 | 5) ;; # 5: a child that is not inspected could act
        *) found=$look ;;
        esac
    done
    is "$found" 0 "$name: accused at look"
}

# Cores come to where the kernel puts them: only the plain name is the test's business.
pattern=$(cat /proc/sys/kernel/core_pattern)
kernel_core()
{
    kill -ABRT "$process"
    wait_for "the end of $name" dead "$process"
    for file in core "core.$process"; do
        [ ! -s "$file" ] || mv "$file" kernel
    done
    if [ -s kernel ]; then
        look_at_core 'the core of the kernel' kernel
    elif [ "$pattern" = core ]; then
        bad "$name: the kernel has written no core"
    fi
}

"$program" --list | awk "NR % $every == 0" >list
while read -r name live core verdict count; do
    [ $# -eq 0 ] || case " $* " in *" $name "*) ;; *) continue ;; esac
    # Who is inside a function of the C library that it does not export is told by its symbols.
    [ "$live" != likely ] || [ -d /usr/lib/debug/.build-id ] || continue
    : >said
    (
        # shellcheck disable=SC3045 # every sh of Linux has it
        ulimit -c unlimited
        exec "$program" "$name" >said
    ) &
    find_process
    look_alive
    if [ "$core" != unasked ]; then
        number=$((number + 1))
        # gdb does not get at a process whose first thread has ended.
        if [ -z "${HUNG_WITHOUT_GCORE-}" ] && [ $((number % every_gcore)) -eq 0 ] && [ "$name" != mutex-mainless ] &&
            command -v gcore >/dev/null; then
            gcore -o made "$process" >/dev/null 2>&1
            check "$name: gcore" test -s "made.$process"
            look_at_core 'the core of gcore' "made.$process"
        fi
        kernel_core
    fi
    kill -9 $! 2>/dev/null
    wait $! 2>/dev/null
done <list
finish
