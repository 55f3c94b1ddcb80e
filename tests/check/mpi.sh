#!/bin/sh
# Snapshots under mpirun: the same report with 1 to 4 ranks as by one process, from pieces and from
# parts of one packed file, and one message for what is wrong.
#
#     mpi.sh TEST_PROGRAM GORDIAN GORDIAN_MPI
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
# shellcheck source=tests/mpi.sh
. "$(dirname "$0")/../mpi.sh"
test_program=$(absolute "$1")
gordian=$(absolute "$2")
gordian_mpi=$(absolute "$3")
enter_scratch

# shellcheck disable=SC2086 # a list of numbers
on_ranks "$test_program" $rank_counts

# same RANKS FILE...: everything it says but the engine, and the exit status.
same()
{
    ranks=$1
    shift
    "$gordian" check --engine sparse --json "$@" >one 2>one.err
    one=$?
    timeout $patience mpirun -n "$ranks" "$gordian_mpi" check --json "$@" >many 2>many.err
    many=$?
    is "$many" "$one" "$ranks ranks: exit status: $(cat many.err)"
    sed -i 's/"engine":"[a-z]*"//' one many
    check "$ranks ranks: the same report" cmp one many
    sed 's/^gordian-mpi/gordian/' many.err | grep -e '^gordian' -e ': error: ' >many.said
    check "$ranks ranks: the same message" diff one.err many.said
}

for kind in chains multi general; do
    "$gordian" gen $kind --processes 500 --snapshot >whole
    split -n l/5 whole piece.
    "$gordian" convert --form snapshot whole >packed
    same 2 piece.*
    same 3 packed
done
printf 'hold p1 q1\nhold p2 nothing\n' >piece.ac
same 3 piece.*
printf 'resource q\nhold p q=2\n' >wrong
same 2 wrong
has "$(cat many.err)" 'wrong:2:8: ' 'file, line and column'
same 2 wrong missing
printf 'resource q\nhold p q\nwait p q\n' >self
printf 'hold p q\nwait p q\nresource q\n' >late
same 2 self late
printf 'hold q q\n' | timeout $patience mpirun -n 2 "$gordian_mpi" check self - >out 2>err
is "$?" 2 'standard input that is not the first'
has "$(cat err)" 'must be the first' 'standard input that is not the first'
finish
