#!/bin/sh
# Random threads and locks: what the library answers must be what the plainest model says.
#
#     random.sh LIBRARY PROGRAM
#
# GORDIAN_TEST_SCALE: how many seeds, in percent of eight.
set -u

seeds=$(((${GORDIAN_TEST_SCALE:-100} * 8 + 99) / 100))
output=$(mktemp)
trap 'rm -f "$output"' EXIT
failed=0
seed=1
while [ $seed -le $seeds ]; do
    if ! LD_PRELOAD=$1 GORDIAN_TOOL='' GORDIAN_POTENTIAL=0 GORDIAN_ON_DEADLOCK=break \
        "$2" $seed 800 >"$output" 2>/dev/null; then
        echo "seed $seed: $(cat "$output")"
        failed=$((failed + 1))
    else
        echo "seed $seed: $(cat "$output")"
    fi
    seed=$((seed + 1))
done
[ $failed -eq 0 ]
