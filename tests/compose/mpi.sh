#!/bin/sh
# Composition under mpirun: the same answers with 1, 2, 3 and 4 ranks, and no hang when one dies.
#
#     mpi.sh TEST_PROGRAM GORDIAN GORDIAN_MPI CIRCUITS_FOLDER
set -u

test_program=$1
gordian=$2
gordian_mpi=$3
circuits=$4

# shellcheck source=tests/mpi.sh
. "$(dirname "$0")/../mpi.sh"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# same RANKS FILE [OPTION...]: the same result file, counts and exit status as without MPI.
same()
{
    ranks=$1
    file=$2
    shift 2
    "$gordian" compose "$circuits/$file" --json --engine cpu -o "$folder/one.aut" "$@" \
        >"$folder/one" 2>"$folder/one.err"
    one=$?
    timeout 100 mpirun -n "$ranks" "$gordian_mpi" compose "$circuits/$file" --json \
        -o "$folder/many.aut" "$@" >"$folder/many" 2>"$folder/many.err"
    many=$?
    [ "$one" = "$many" ] || complain "$file, $ranks ranks: exit status $many, not $one"
    grep -q '"engine":"mpi"' "$folder/many" || complain "$file, $ranks ranks: not by mpi"
    for f in one many; do
        sed 's/"engine":"[a-z]*"//; s/"seconds":[0-9.e-]*//; s/"note":"[^"]*",*//' \
            "$folder/$f" >"$folder/$f.cut"
    done
    cmp -s "$folder/one.cut" "$folder/many.cut" || {
        complain "$file, $ranks ranks: another answer"
        diff "$folder/one.cut" "$folder/many.cut" >&2
        cat "$folder/many.err" >&2
    }
    cmp -s "$folder/one.aut" "$folder/many.aut" ||
        complain "$file, $ranks ranks: another product"
}

for ranks in 1 2 3 4; do
    timeout 300 mpirun -n "$ranks" "$test_program" || complain "$ranks ranks: status $?"
    same "$ranks" philosophers.treo --main 'table<4>'
    same "$ranks" chain.treo --main 'chain<12>'
done
same 2 ring.treo --full
same 3 chain.treo --main 'chain<4>' --data 0,1

# A limit stops every rank, not long after it is reached; and nothing is coloured in a file.
for ranks in 1 3; do
    timeout 60 mpirun -n "$ranks" "$gordian_mpi" compose "$circuits/chain.treo" --main 'chain<26>' \
        --max-states 1000 >"$folder/out" 2>"$folder/err"
    found=$(grep -o '[0-9]* states' "$folder/out" | head -n 1)
    [ "${found% states}" -ge 1000 ] && [ "${found% states}" -lt 100000 ] ||
        complain "$ranks ranks, 1000 states asked for: $(cat "$folder/out" "$folder/err")"
    grep -q "$(printf '\033')" "$folder/out" && complain "colours in a file"
done

# A rank that is killed ends the run: with a message, and soon.
timeout 60 mpirun -n 3 "$gordian_mpi" compose "$circuits/chain.treo" --main 'chain<40>' \
    --deadlocks >"$folder/out" 2>"$folder/err" &
runner=$!
victim=
for _ in $(seq 100); do
    sleep 0.1
    # The last of the ranks; mpirun may be a child of timeout's.
    victim=$(ps -eo pid,args | awk -v program="$gordian_mpi" \
        '$2 == program && /chain<40>/ { pid = $1 } END { print pid }')
    [ -n "$victim" ] && break
done
if [ -z "$victim" ]; then
    complain "no rank to kill"
    kill "$runner"
else
    sleep 1
    kill -9 "$victim"
fi
wait "$runner"
status=$?
[ "$status" -ne 0 ] || complain "a rank died, and the run ended well"
[ "$status" -ne 124 ] || complain "a rank died, and the run went on for ever"
[ -s "$folder/err" ] || complain "a rank died, and nobody said so"

exit "$failed"
