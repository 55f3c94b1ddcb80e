#!/bin/sh
# Random sound programs under `gordian run`: each ends with 0, as natively, and none is said to be
# deadlocked. A deadlock that is only likely is counted, and is no failure. A failure is printed with
# the program and its seed.
#
#     soak.sh GORDIAN SOUND ASLEEP [FIRST]
#
# GORDIAN_TEST_SCALE: how many programs, in percent of forty; FIRST: the first seed;
# GORDIAN_TEST_JOBS: how many at a time. Twenty thousand:
#
#     GORDIAN_TEST_SCALE=50000 GORDIAN_TEST_JOBS=16 tests/run/soak.sh build/gordian \
#         build/tests/run/sound build/tests/run/asleep
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"

# one SEED: runs one program, and says in the file SEED.failed or SEED.likely what is wrong with it.
one()
{
    if [ $(($1 % 2)) -eq 0 ]; then
        set -- "$1" "$SOAK_SOUND" "$1" 60
    else
        set -- "$1" "$SOAK_ASLEEP" "$1"
    fi
    seed=$1
    shift
    timeout $patience "$SOAK_GORDIAN" run --color never -- "$@" >"$seed.output" 2>&1
    status=$?
    if [ $status -ne 0 ] || grep '^gordian: ' "$seed.output" | grep -qv '^gordian: deadlock [0-9]*, likely'; then
        { echo "exit status $status: gordian run -- $*" && cat "$seed.output"; } >"$seed.failed"
    elif grep -q '^gordian: ' "$seed.output"; then
        echo "likely: gordian run -- $*" >"$seed.likely"
    fi
    rm -f "$seed.output"
}

if [ "$1" = --one ]; then
    one "$2"
    exit 0
fi

gordian=$(absolute "$1")
SOAK_GORDIAN=$gordian
SOAK_SOUND=$(absolute "$2")
SOAK_ASLEEP=$(absolute "$3")
export SOAK_GORDIAN SOAK_SOUND SOAK_ASLEEP
first=${4:-1}
script=$(absolute "$0")
enter_scratch

programs=$(((${GORDIAN_TEST_SCALE:-100} * 40 + 99) / 100))
started=$(date +%s)
seq "$first" $((first + programs - 1)) | xargs -P "${GORDIAN_TEST_JOBS:-4}" -n 1 "$script" --one
echo "$programs programs in $(($(date +%s) - started)) s, $(find . -name '*.likely' | wc -l) likely"
for file in *.likely; do
    [ -e "$file" ] && sed 's/^/    /' "$file"
done
passed=$programs
for file in *.failed; do
    [ -e "$file" ] || continue
    passed=$((passed - 1))
    bad "seed ${file%.failed}: $(cat "$file")"
done
finish
