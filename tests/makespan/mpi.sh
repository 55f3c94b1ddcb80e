#!/bin/sh
# Makespans under mpirun: the same answers with 1, 2 and 3 ranks as on threads.
#
#     mpi.sh TEST_PROGRAM GORDIAN GORDIAN_MPI
set -u

test_program=$1
gordian=$2
gordian_mpi=$3

# shellcheck source=tests/mpi.sh
. "$(dirname "$0")/../mpi.sh"

for ranks in 1 2 3; do
    timeout 300 mpirun -n "$ranks" "$test_program" || complain "$ranks ranks: status $?"
done

# The command: everything it says but the engine, the time and how much it tried.
answer()
{
    "$@" --kernel LLLLLCCCCCCCCCLLCCCCCCCCC --warps 8 --units L=1,C=4 --schedulers 4 --chains 3 \
        --evaluations 3000 --json |
        sed 's/"engine":"[a-z]*"//; s/"evaluations":[0-9]*//; s/"seconds":[0-9.e-]*//'
}
one=$(answer "$gordian" makespan --engine anneal)
many=$(answer timeout 100 mpirun -n 2 "$gordian_mpi" makespan --engine mpi)
case $one in *'"lower":'*) ;; *) complain "no answer: $one" ;; esac
[ "$one" = "$many" ] || complain "another answer: $many, not $one"
exit "$failed"
