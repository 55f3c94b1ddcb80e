#!/bin/sh
# The published product over MPI ranks: the same transitions whoever makes them.
#
#     published_ranks.sh PUBLISHED_RANKS
set -u

# shellcheck source=tests/shell.sh
. "$(dirname "$0")/../shell.sh"
# shellcheck source=tests/mpi.sh
. "$(dirname "$0")/../mpi.sh"
program=$(absolute "$1")
enter_scratch

# makes RANKS FIFOS TRANSITIONS
makes()
{
    timeout $patience mpirun -n "$1" "$program" "$2" >out 2>err
    is "$?" 0 "$1 ranks, $2 FIFO1s: exit status: $(cat err)"
    has "$(cat out)" "{\"ranks\":$1,\"transitions\":$3," "$1 ranks, $2 FIFO1s"
}

for ranks in $rank_counts; do
    makes $ranks 1 2
    makes $ranks 4 240
done
makes 2 8 65280
makes 3 9 261632

# What cannot be done is said, and nobody waits for anybody.
timeout $patience mpirun -n 2 "$program" 40 >out 2>err
status=$?
check 'too many FIFO1s: it fails' test "$status" -ne 0
check 'too many FIFO1s: it ends' test "$status" -ne 124
has "$(cat err)" 'FIFO1s' 'too many FIFO1s'
is "$(cat out)" '' 'too many FIFO1s: nothing is printed'
finish
