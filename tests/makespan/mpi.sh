#!/bin/sh
# Makespans under mpirun: the same answers with 1 to 4 ranks as on threads.
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

# The command: everything it says but the engine, the time and how much it tried.
answer()
{
    "$@" --kernel LLLLLCCCCCCCCCLLCCCCCCCCC --warps 8 --units L=1,C=4 --schedulers 4 --chains 3 \
        --evaluations 3000 --json |
        sed 's/"engine":"[a-z]*"//; s/"evaluations":[0-9]*//; s/"seconds":[0-9.e-]*//'
}
one=$(answer "$gordian" makespan --engine anneal)
many=$(answer timeout $patience mpirun -n 2 "$gordian_mpi" makespan --engine mpi)
has "$one" '"lower":' 'an answer'
is "$many" "$one" 'the same answer'
# Which of the two a program is.
has "$("$gordian" info)" 'as gordian-mpi' 'gordian info'
has "$(timeout 100 mpirun -n 1 "$gordian_mpi" info)" 'this is gordian-mpi' 'gordian-mpi info'
finish
