#!/bin/sh
# On another machine, where perhaps not everything is installed: builds what can be, and tries it on
# the hung programs. Less may be said than is expected where elfutils is complete, but nothing else.
#
#     tests/inspect/elsewhere.sh [FOLDER]
#
# FOLDER gets cores, the programs they are of, and the C library, to be inspected on a machine with
# another processor:
#
#     gordian inspect FOLDER/abba-mutex-mutex.core --sysroot FOLDER/root
#
# Needs a C compiler, Meson, Ninja and Python; gdb's gcore if it is there. Nothing is installed. The
# last line says "N passed, M failed".
set -u

cd "$(dirname "$0")/../.." || exit
keep=${1:-}
build="build-elsewhere"
if [ ! -d $build ]; then
    meson setup $build -Dbuildtype=debugoptimized -Dcuda=disabled -Dpage=disabled \
        -Digraph=disabled >setup.log 2>&1 || { cat setup.log; exit 1; }
fi
rm -f setup.log
ninja -C $build || exit

uname -srm
"$build/gordian" info | grep -i -e inspect -e 'gordian run'
python3 tests/inspect/matrix.py $build/gordian tests/inspect/matrix.table $build/tests/inspect \
    --weaker
matrix=$?
python3 tests/inspect/killed.py $build/gordian $build/tests/inspect/busy 50
killed=$?
python3 tests/inspect/large.py $build/gordian $build/tests/inspect/hang-O0
large=$?

# keep_core CASE: its core, by the kernel.
keep_core()
{
    program=$PWD/$build/tests/inspect/hang-O2
    mkdir -p "$keep/root$(dirname "$program")"
    cp "$program" "$keep/root$program"
    for library in $(ldd "$program" | grep -o '/[^ )]*'); do
        mkdir -p "$keep/root$(dirname "$library")"
        cp -L "$library" "$keep/root$library"
    done
    (
        cd "$keep" || exit
        # shellcheck disable=SC3045 # wherever there are cores there is this
        ulimit -c unlimited
        "$program" "$1" >"$1.said" &
        process=$!
        until grep -q '^ready' "$1.said" && ! grep -q 'running' /proc/$process/task/*/syscall; do
            sleep 0.05
        done
        kill -ABRT $process # which nobody ignores
        wait $process
        for core in core core.$process; do
            [ ! -s "$core" ] || mv "$core" "$1.core"
        done
    )
}

if [ -n "$keep" ]; then
    mkdir -p "$keep"
    for case in abba-mutex-mutex abba-write-write join-circle abba-robust-robust abba-file-file; do
        keep_core $case
    done
    ls -l "$keep"
fi
failed=$(((matrix != 0) + (killed != 0) + (large != 0)))
echo "$((3 - failed)) passed, $failed failed"
[ $failed -eq 0 ]
