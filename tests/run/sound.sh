#!/bin/sh
# Random sound programs: watched they end well, as natively, and nothing is said.
#
#     sound.sh LIBRARY PROGRAM [FIRST]
#
# GORDIAN_TEST_SCALE: how many seeds, in percent of forty; FIRST: the first seed.
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
library=$(absolute "$1")
program=$(absolute "$2")
first=${3:-1}
enter_scratch

seeds=$(((${GORDIAN_TEST_SCALE:-100} * 40 + 99) / 100))
for seed in $(seq "$first" $((first + seeds - 1))); do
    LD_PRELOAD=$library GORDIAN_TOOL='' timeout $patience "$program" "$seed" 100 >output 2>&1
    status=$?
    if [ $status -eq 0 ] && [ ! -s output ]; then
        good
    else
        bad "seed $seed: exit status $status, or it says something"
        sed 's/^/    /' output >&2
    fi
done
finish
