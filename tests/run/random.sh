#!/bin/sh
# Random threads and locks: what the library answers must be what the plainest model says.
#
#     random.sh LIBRARY PROGRAM
#
# GORDIAN_TEST_SCALE: how many seeds, in percent of eight.
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
library=$(absolute "$1")
program=$(absolute "$2")
enter_scratch

seeds=$(((${GORDIAN_TEST_SCALE:-100} * 8 + 99) / 100))
for seed in $(seq "$seeds"); do
    if LD_PRELOAD=$library GORDIAN_TOOL='' GORDIAN_POTENTIAL=0 GORDIAN_ON_DEADLOCK=break \
        "$program" "$seed" 800 >output 2>/dev/null; then
        good
        echo "seed $seed: $(cat output)"
    else
        bad "seed $seed: $(cat output)"
    fi
done
finish
