#!/bin/sh
# Makespans under mpirun: the same answers with 1, 2 and 3 ranks as on threads.
#
#     mpi.sh TEST_PROGRAM GORDIAN GORDIAN_MPI
set -u

test_program=$1
gordian=$2
gordian_mpi=$3

if ! command -v mpirun >/dev/null; then
    echo "no mpirun here"
    exit 77
fi
# Root, in a container, with more ranks than cores: fine for a test.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export HWLOC_COMPONENTS=-gl # no graphics to look for

# MPI itself does not give everything back.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

failed=0
for ranks in 1 2 3; do
    timeout 300 mpirun -n "$ranks" "$test_program" || {
        echo "mpi.sh: $ranks ranks: status $?" >&2
        failed=1
    }
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
case $one in *'"lower":'*) ;; *) failed=1 ;; esac
[ "$one" = "$many" ] || {
    echo "mpi.sh: another answer: $many, not $one" >&2
    failed=1
}
exit "$failed"
