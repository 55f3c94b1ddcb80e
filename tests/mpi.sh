# What the tests under mpirun share; to be sourced after shell.sh:
#
#     . "$(dirname "$0")/../mpi.sh"
#
# Without mpirun the test is skipped.
need mpirun
# Root, in a container, with more ranks than cores: fine for a test.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export HWLOC_COMPONENTS=-gl # no graphics to look for

# MPI itself does not give everything back.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

# With how many ranks what any number can do is done. Ranks ask for messages all the time, also those who
# have no core to themselves: a long run tries all of these, others the least and an odd one, a short one the
# odd one.
# shellcheck disable=SC2034 # for those who source this
rank_counts='1 3'
[ "${GORDIAN_TEST_SCALE:-100}" -lt 100 ] || rank_counts='1 2 3 4'
[ "${GORDIAN_TEST_SCALE:-100}" -ge 10 ] || rank_counts=3

# on_ranks TEST_PROGRAM RANKS...: it succeeds with so many.
on_ranks()
{
    test_program=$1
    shift
    for ranks; do
        check "$ranks ranks: $test_program" timeout $patience mpirun -n "$ranks" "$test_program"
    done
}
