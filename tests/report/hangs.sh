#!/bin/sh
# The reports of the eight hangs, end to end: what `gordian run` says about each, with names, files
# and lines; as JSON; and as a trace that `gordian detect` judges the same way.
#
#     hangs.sh GORDIAN PROGRAM FOLDER [--update]
#
# PROGRAM has the hangs (tests/run/hangs_*), FOLDER what is expected of each. Which of the threads
# closes the circle is chance, so lines are compared in sorted order, and drawings are left out.
set -u

gordian=$(realpath "$1")
program=$(realpath "$2")
expected=$(realpath "$3")
update=${4:-}
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
enter_scratch

# Without what differs from run to run, or from compiler to compiler.
steady()
{
    grep -v '[╭│╰]\|──\|^$' | sed -E -e 's/(thread|process|-) ?[0-9]{2,}/\1 N/g' \
        -e 's/0x[0-9a-f]+/0xN/g' -e 's|[^ (]*/(hangs_[a-z0-9]*\.)|\1|g' -e 's/ \(inlined\)$//' -e 's/, for [0-9.]+ s now//' \
        -e 's/(^  program|variable of) [a-z0-9_]+/\1 PROGRAM/g' -e 's/  +([a-z_0-9.]*:)/  \1/' \
        -e 's/[0-9]+ locks?([, ])/N locks\1/' | sort -u
}

# Names of a JSON list, one a line, sorted, as a trace writes them.
names()
{
    tr ',' '\n' | tr -d '"[]' | tr ' ' '-' | sort
}

# Less than 100 ms after the last of the waits in timed.json had begun.
found_soon()
{
    grep -o '"waited_seconds":[^,}]*' timed.json | cut -d : -f 2 | sort -g | head -n 1 >waited
    awk '{ exit !($1 < 0.1) }' waited
}

for hang in $("$program"); do
    rm -f report.json replay.trace
    timeout $patience "$gordian" run --json report.json --trace replay.trace -- "$program" "$hang" \
        >stdout 2>stderr
    status=$?
    check "$hang: exit status $status instead of 86" test $status -eq 86
    steady <stderr >text
    if [ "$update" = --update ]; then
        cp text "$expected/$hang"
    fi
    check "$hang: text" diff -u "$expected/$hang" text
    check "$hang: one report" test "$(wc -l <report.json)" -eq 1
    if command -v python3 >/dev/null; then
        check "$hang: JSON" python3 -m json.tool report.json
    fi
    # The last one to wait has not waited long when it is found; that the machine was busy with
    # something else counts only when it always is.
    tries=0
    cp report.json timed.json
    until found_soon || [ $tries -eq 50 ]; do
        tries=$((tries + 1))
        rm -f timed.json
        timeout $patience "$gordian" run --quiet --json timed.json -- "$program" "$hang" 2>/dev/null
    done
    check "$hang: found within 100 ms: $(cat waited) s" found_soon
    "$gordian" detect --json replay.trace >replay.json
    check "$hang: the replay finds it" test $? -eq 1
    # The same cycle, where it is one; and the same threads can never go on.
    witness='s/.*"cycle":\(\[[^]]*[^0-9]\]\).*/\1/p'
    cycle=$(sed -n "$witness" report.json | head -n 1 | names)
    if [ -n "$cycle" ]; then
        check "$hang: the same cycle" test "$cycle" = "$(sed -n "$witness" replay.json | head -n 1 | names)"
    fi
    stuck=$(tr '{' '\n' <report.json | grep '"role":"\(member\|behind\)"' | sed 's/.*"name":"\([^"]*\)".*/\1/' | sort)
    dead=$(sed -n 's/.*"summary".*"deadlocked":\[\([^]]*\)\].*/\1/p' replay.json | names)
    if [ "$hang" != owner-gone ]; then
        check "$hang: the same threads: $stuck; $dead" test "$stuck" = "$dead"
    fi
    timeout $patience "$gordian" run --quiet -- "$program" "$hang" good >stdout 2>stderr
    status=$?
    check "$hang written right: exit status $status" test $status -eq 0
    check "$hang written right: nothing is said" test ! -s stderr
done
finish
