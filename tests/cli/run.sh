#!/bin/sh
# Golden tests of the command line: runs every case and compares what it wrote and returned.
#
#   run.sh GORDIAN [--terminal PROGRAM] [--update] [CASE...]
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
gordian=$1
case $gordian in /*) ;; *) gordian=$PWD/$gordian ;; esac
shift
terminal=
update=false
while [ $# -gt 0 ]; do
    case $1 in
    --terminal)
        terminal=$2
        case $terminal in /*) ;; *) terminal=$PWD/$terminal ;; esac
        shift
        ;;
    --update) update=true ;;
    *) break ;;
    esac
    shift
done

# Looking for leaks at every exit can take seconds each; the reference tests do it.
: "${ASAN_OPTIONS=detect_leaks=0}"
export ASAN_OPTIONS

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

mkdir "$scratch/bin"
ln -s "$gordian" "$scratch/bin/gordian"
[ -z "$terminal" ] || ln -s "$terminal" "$scratch/bin/terminal"
PATH=$scratch/bin:$PATH
DATA=$(cd "$here/../data" && pwd)
LC_ALL=C.UTF-8
TERM=xterm
GORDIAN_CUDA_LIBRARY=libno-gpu.so # the same answers on machines with and without a GPU
export PATH DATA LC_ALL TERM GORDIAN_CUDA_LIBRARY
unset LANG LC_CTYPE NO_COLOR 2>/dev/null

# Takes a case apart: script, expected.*, and its files under work/.
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

# Without elfutils there is no `gordian run` to test.
has_run=true
gordian info | grep -q '^run .*elfutils' && has_run=false
# Nor a service, without libevent and the others.
has_serve=true
gordian help serve | grep -q 'built without' && has_serve=false

passed=0
failed=0
[ $# -gt 0 ] || set -- "$here"/cases/*
for file; do
    [ -f "$file" ] || file=$here/cases/$file
    name=$(basename "$file")
    case $name in run-* | use-help-run) $has_run || continue ;; esac
    case $name in serve-* | send-* | tail-* | incidents-* | use-help-serve | use-help-incidents) $has_serve || continue ;; esac
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
    if $ok; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
$update && exit 0
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
