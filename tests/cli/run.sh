#!/bin/sh
# Golden tests of the command line: runs every case and compares what it wrote and returned.
#
#     run.sh GORDIAN [--terminal PROGRAM] [--update] [CASE...]
#
# A case is one file in cases/:
#
#   # what it shows
#   gordian detect --json a.trace      one or more lines of shell
#   --- file a.trace                   any number of input files, made in an empty folder
#   request p0 q0
#   --- stdout
#   --- stderr
#   --- exit 2
#
# --update writes what came out into the case files: look at the difference before you keep it.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
gordian=$(absolute "$1")
shift
terminal=
update=false
while [ $# -gt 0 ]; do
    case $1 in
    --terminal)
        terminal=$(absolute "$2")
        shift
        ;;
    --update) update=true ;;
    *) break ;;
    esac
    shift
done

enter_scratch
on_path gordian "$gordian"
[ -z "$terminal" ] || on_path terminal "$terminal"
DATA=$(cd "$here/../data" && pwd)
TERM=xterm
GORDIAN_CUDA_LIBRARY=libno-gpu.so # the same answers on machines with and without a GPU
export DATA TERM GORDIAN_CUDA_LIBRARY
unset LANG LC_CTYPE NO_COLOR 2>/dev/null

# Takes a case apart: script, expected.*, and its files under folder/.
split_case() {
    mkdir "$scratch/folder"
    : >"$scratch/expected.stdout"
    : >"$scratch/expected.stderr"
    LC_ALL=C awk -v scratch="$scratch" '
        BEGIN { to = scratch "/script" }
        /^--- file / { to = scratch "/folder/" $3; printf "" > to; next }
        /^--- exit / { print $3 > (scratch "/expected.exit"); next }
        /^--- (stdout|stderr)$/ { to = scratch "/expected." $2; next }
        { print > to }' "$1"
}

# The case as it would be if what came out were right.
join_case() {
    LC_ALL=C awk '/^--- (stdout|stderr|exit)/ { exit } { print }' "$1"
    echo "--- stdout"
    cat "$scratch/actual.stdout"
    if [ -s "$scratch/actual.stderr" ]; then
        echo "--- stderr"
        cat "$scratch/actual.stderr"
    fi
    echo "--- exit $(cat "$scratch/actual.exit")"
}

run_case() {
    rm -rf "$scratch/folder" "$scratch"/expected.* "$scratch"/actual.* "$scratch/script"
    split_case "$1"
    (cd "$scratch/folder" && sh "$scratch/script") \
        >"$scratch/actual.stdout" 2>"$scratch/actual.stderr" </dev/null
    echo $? >"$scratch/actual.exit"
}

# Programs start and end slowly in sanitized builds, and a case is several of them: a short run does every
# fifth case, which are some of each command.
every=1
[ "${GORDIAN_TEST_SCALE:-100}" -ge 10 ] || every=5
if [ $# -eq 0 ]; then
    set -- "$here"/cases/*
else
    every=1
fi
number=0
for file; do
    number=$((number + 1))
    [ $((number % every)) -eq 0 ] || continue
    name=$(basename "$file")
    file=$here/cases/$name
    case $name in run-* | use-help-run) is_built run || continue ;; esac
    case $name in serve-* | send-* | tail-* | incidents-* | use-help-serve | use-help-incidents | use-help-send | use-help-tail) is_built serve || continue ;; esac
    # What these run is tested by itself; a sanitized build would take a minute for their loops.
    case $name in bench-*-gpu | bench-gpu* | bench-compose | bench-makespan | info-crossover | papers-run) [ "${GORDIAN_TEST_SCALE:-100}" -ge 10 ] || continue ;; esac
    run_case "$file"
    if $update; then
        join_case "$file" >"$scratch/updated"
        cmp -s "$scratch/updated" "$file" || { cat "$scratch/updated" >"$file" && echo "updated: $name"; }
        continue
    fi
    ok=true
    for part in stdout stderr exit; do
        if ! cmp -s "$scratch/expected.$part" "$scratch/actual.$part"; then
            ok=false
            echo "failed: $name: $part"
            diff -u "$scratch/expected.$part" "$scratch/actual.$part" | sed '1,2d; s/^/    /' | head -40
        fi
    done
    if $ok; then good; else failed=$((failed + 1)); fi
done
$update && exit 0
finish
