#!/bin/sh
# Composition under mpirun: the same answers with 1 to 4 ranks, and no hang when one dies.
#
#     mpi.sh TEST_PROGRAM GORDIAN GORDIAN_MPI CIRCUITS_FOLDER
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
# shellcheck source=tests/mpi.sh
. "$(dirname "$0")/../mpi.sh"
test_program=$(absolute "$1")
gordian=$(absolute "$2")
gordian_mpi=$(absolute "$3")
circuits=$(absolute "$4")
enter_scratch

# same RANKS FILE [OPTION...]: the same result file, counts and exit status as without MPI.
same()
{
    ranks=$1
    file=$2
    shift 2
    "$gordian" compose "$circuits/$file" --json --engine cpu -o one.aut "$@" \
        >one 2>one.err
    one=$?
    timeout $patience mpirun -n "$ranks" "$gordian_mpi" compose "$circuits/$file" --json \
        -o many.aut "$@" >many 2>many.err
    many=$?
    is "$many" "$one" "$file, $ranks ranks: exit status: $(cat many.err)"
    has "$(cat many)" '"engine":"mpi"' "$file, $ranks ranks"
    for f in one many; do
        sed 's/"engine":"[a-z]*"//; s/"seconds":[0-9.e-]*//; s/"note":"[^"]*",*//' $f >$f.cut
    done
    check "$file, $ranks ranks: the same answer" diff one.cut many.cut
    check "$file, $ranks ranks: the same product" cmp one.aut many.aut
}

# shellcheck disable=SC2086 # a list of numbers
on_ranks "$test_program" $rank_counts
# As ranks of several machines talk.
# shellcheck disable=SC2086
GORDIAN_MPI_MESSAGES=1 on_ranks "$test_program" ${rank_counts#* }
for ranks in $rank_counts; do
    same "$ranks" philosophers.treo --main 'table<4>'
    same "$ranks" chain.treo --main 'chain<12>'
done
same 2 ring.treo --full
same 3 chain.treo --main 'chain<4>' --data 0,1

# A limit stops every rank, not long after it is reached; and nothing is coloured in a file.
for ranks in 1 3; do
    timeout $patience mpirun -n "$ranks" "$gordian_mpi" compose "$circuits/chain.treo" --main 'chain<26>' \
        --max-states 1000 >out 2>err
    found=$(grep -o '[0-9]* states' out | head -n 1)
    check "$ranks ranks, 1000 states asked for, not ${found:-none}" test "${found% states}" -ge 1000
    check "$ranks ranks, 1000 states asked for, $found" test "${found% states}" -lt 100000
    has_not "$(cat out)" "$(printf '\033')" 'colours in a file'
done

# A rank that is killed ends the run: with a message, and soon.
cp "$circuits/chain.treo" .
timeout $patience mpirun -n 3 "$gordian_mpi" compose "$PWD/chain.treo" --main 'chain<40>' \
    --deadlocks >out 2>err &
runner=$!
# The last of the ranks, and it has been on a processor for a while.
at_work()
{
    victim=$(ps -eo pid,args | awk -v program="$gordian_mpi" -v circuit="$PWD/chain.treo" \
        '$2 == program && index($0, circuit) { pid = $1 } END { print pid }')
    [ -n "$victim" ] && [ "$(awk '{ print $14 + $15 }' "/proc/$victim/stat")" -ge 50 ]
}
if wait_for 'a rank to kill' at_work; then
    kill -9 "$victim"
else
    kill "$runner"
fi
wait "$runner"
status=$?
check 'a rank died: the run does not end well' test "$status" -ne 0
check 'a rank died: the run does not go on for ever' test "$status" -ne 124
check 'a rank died: it is said' test -s err
finish
