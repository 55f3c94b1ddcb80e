/* Wrappers of collective calls. Each call is counted before it begins, so a rank that has counted
 * it has arrived or is about to. */
#include "sources/mpi/calls.h"

static bool begin_collective(struct traced_call *traced, enum mpi_call call, MPI_Comm comm,
                             int root, enum mpi_collective_need need)
{
    if (!traced_collective(traced, call, comm, root))
        return false;
    traced->item.tag = (int32_t)need;
    /* Ranks compare this value at the same number: calls with different roots do not match. */
    traced->item.call = (uint64_t)call << 32 | (uint32_t)(root + 1);
    traced->item.number = recorder_collective(traced->item.group, traced->item.call);
    return true;
}

/* Begins a blocking collective. */
static void begin_waiting(struct traced_call *traced, enum mpi_call call, MPI_Comm comm, int root,
                          enum mpi_collective_need need)
{
    if (!begin_collective(traced, call, comm, root, need))
        return;
    recorder_event(MPI_EVENT_COLLECTIVE, call, &traced->item, traced->item.number);
    traced_wait(traced);
}

/* Records a nonblocking collective. The log cannot be replayed from here on. */
static void note_begun(const struct traced_call *traced, const MPI_Request *request)
{
    recorder_request(HANDLE(*request), recorder_number(), &traced->item, true, false);
    recorder_stop_polling(traced->slot);
    atomic_store(&recorder.record->event_count, MPI_EVENTS + 1);
}

/* PARAMETERS and ARGUMENTS belong to the call, without communicator and request. */
#define COLLECTIVE(name, later, root, need, parameters, arguments)                                 \
    int layer_##name(LIST parameters, MPI_Comm comm)                                               \
    {                                                                                              \
        struct traced_call traced;                                                                 \
        begin_waiting(&traced, MPI_CALL_##name, comm, root, need);                                 \
        int result = PMPI_##name(LIST arguments, comm);                                            \
        traced_end(&traced);                                                                       \
        return result;                                                                             \
    }                                                                                              \
    int layer_##later(LIST parameters, MPI_Comm comm, MPI_Request *request)                        \
    {                                                                                              \
        struct traced_call traced;                                                                 \
        bool known = begin_collective(&traced, MPI_CALL_##later, comm, root, need);                \
        int result = PMPI_##later(LIST arguments, comm, request);                                  \
        if (known)                                                                                 \
            note_begun(&traced, request);                                                          \
        return result;                                                                             \
    }
#define LIST(...) __VA_ARGS__

int layer_Barrier(MPI_Comm comm)
{
    struct traced_call traced;
    begin_waiting(&traced, MPI_CALL_Barrier, comm, NO_ROOT, MPI_NEEDS_ALL);
    int result = PMPI_Barrier(comm);
    traced_end(&traced);
    return result;
}

int layer_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    struct traced_call traced;
    bool known = begin_collective(&traced, MPI_CALL_Ibarrier, comm, NO_ROOT, MPI_NEEDS_ALL);
    int result = PMPI_Ibarrier(comm, request);
    if (known)
        note_begun(&traced, request);
    return result;
}

COLLECTIVE(Bcast, Ibcast, root, MPI_NEEDS_ROOT,
           (void *data, int count, MPI_Datatype type, int root), (data, count, type, root))
COLLECTIVE(Reduce, Ireduce, root, MPI_NEEDS_SOME,
           (const void *data, void *result_data, int count, MPI_Datatype type, MPI_Op op, int root),
           (data, result_data, count, type, op, root))
COLLECTIVE(Allreduce, Iallreduce, NO_ROOT, MPI_NEEDS_ALL,
           (const void *data, void *result_data, int count, MPI_Datatype type, MPI_Op op),
           (data, result_data, count, type, op))
COLLECTIVE(Gather, Igather, root, MPI_NEEDS_SOME,
           (const void *data, int count, MPI_Datatype type, void *all, int all_count,
            MPI_Datatype all_type, int root),
           (data, count, type, all, all_count, all_type, root))
COLLECTIVE(Gatherv, Igatherv, root, MPI_NEEDS_SOME,
           (const void *data, int count, MPI_Datatype type, void *all, const int counts[],
            const int places[], MPI_Datatype all_type, int root),
           (data, count, type, all, counts, places, all_type, root))
COLLECTIVE(Scatter, Iscatter, root, MPI_NEEDS_ROOT,
           (const void *all, int all_count, MPI_Datatype all_type, void *data, int count,
            MPI_Datatype type, int root),
           (all, all_count, all_type, data, count, type, root))
COLLECTIVE(Scatterv, Iscatterv, root, MPI_NEEDS_ROOT,
           (const void *all, const int counts[], const int places[], MPI_Datatype all_type,
            void *data, int count, MPI_Datatype type, int root),
           (all, counts, places, all_type, data, count, type, root))
COLLECTIVE(Allgather, Iallgather, NO_ROOT, MPI_NEEDS_ALL,
           (const void *data, int count, MPI_Datatype type, void *all, int all_count,
            MPI_Datatype all_type),
           (data, count, type, all, all_count, all_type))
COLLECTIVE(Allgatherv, Iallgatherv, NO_ROOT, MPI_NEEDS_ALL,
           (const void *data, int count, MPI_Datatype type, void *all, const int counts[],
            const int places[], MPI_Datatype all_type),
           (data, count, type, all, counts, places, all_type))
COLLECTIVE(Alltoall, Ialltoall, NO_ROOT, MPI_NEEDS_ALL,
           (const void *data, int count, MPI_Datatype type, void *all, int all_count,
            MPI_Datatype all_type),
           (data, count, type, all, all_count, all_type))
COLLECTIVE(Alltoallv, Ialltoallv, NO_ROOT, MPI_NEEDS_ALL,
           (const void *data, const int counts[], const int places[], MPI_Datatype type, void *all,
            const int all_counts[], const int all_places[], MPI_Datatype all_type),
           (data, counts, places, type, all, all_counts, all_places, all_type))
COLLECTIVE(Alltoallw, Ialltoallw, NO_ROOT, MPI_NEEDS_ALL,
           (const void *data, const int counts[], const int places[], const MPI_Datatype types[],
            void *all, const int all_counts[], const int all_places[],
            const MPI_Datatype all_types[]),
           (data, counts, places, types, all, all_counts, all_places, all_types))
COLLECTIVE(Reduce_scatter, Ireduce_scatter, NO_ROOT, MPI_NEEDS_ALL,
           (const void *data, void *result_data, const int counts[], MPI_Datatype type, MPI_Op op),
           (data, result_data, counts, type, op))
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, NO_ROOT, MPI_NEEDS_ALL,
           (const void *data, void *result_data, int count, MPI_Datatype type, MPI_Op op),
           (data, result_data, count, type, op))
COLLECTIVE(Scan, Iscan, NO_ROOT, MPI_NEEDS_SOME,
           (const void *data, void *result_data, int count, MPI_Datatype type, MPI_Op op),
           (data, result_data, count, type, op))
COLLECTIVE(Exscan, Iexscan, NO_ROOT, MPI_NEEDS_SOME,
           (const void *data, void *result_data, int count, MPI_Datatype type, MPI_Op op),
           (data, result_data, count, type, op))
