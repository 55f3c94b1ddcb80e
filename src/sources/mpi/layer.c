/* Looks up communicators, ranks and channels for the wrappers of MPI calls. */
#include "sources/mpi/layer.h"

/* Translates a rank in a communicator to its rank in MPI_COMM_WORLD. */
static int32_t world_rank(uint32_t group, int rank)
{
    const struct mpi_group *of = &recorder.record->groups[group];
    if (rank < 0 || (uint32_t)rank >= of->size)
        return MPI_ANY_RANK;
    return (int32_t)recorder.record->members[of->first + (uint32_t)rank];
}

void route_look_up(struct recorder_route *route, MPI_Comm comm, int rank, int tag)
{
    uint32_t epoch = recorder_epoch(), group = recorder_group(HANDLE(comm));
    *route = (struct recorder_route){
        .comm = HANDLE(comm), .rank = rank, .tag = tag, .epoch = epoch, .group = group};
    if (group == MPI_GROUPS)
        return;
    route->peer = rank == MPI_ANY_SOURCE ? MPI_ANY_RANK : world_rank(group, rank);
    if (route->peer != MPI_ANY_RANK && tag != MPI_ANY_TAG)
        route->channel = recorder_channel(group, route->peer, tag);
}

bool traced_collective(struct traced_call *traced, enum mpi_call call, MPI_Comm comm, int root)
{
    traced->slot = NULL;
    if (!recorder.record)
        return false;
    uint32_t group = recorder_group(HANDLE(comm));
    if (group == MPI_GROUPS)
        return false;
    traced->slot = recorder_slot();
    traced->route = NULL;
    traced->call = call;
    traced->item = (struct mpi_item){
        .kind = MPI_ITEM_COLLECTIVE,
        .peer = root < 0 ? MPI_ANY_RANK : world_rank(group, root),
        .group = group,
    };
    return traced->slot;
}

void item_received(const struct mpi_item *item, const MPI_Status *status, enum mpi_event_kind event,
                   enum mpi_call call, uint64_t what)
{
    struct mpi_item got = *item;
    if (got.peer == MPI_ANY_RANK)
        got.peer = world_rank(item->group, status->MPI_SOURCE);
    if (got.tag == MPI_ANY_RANK)
        got.tag = status->MPI_TAG;
    recorder_received(recorder_channel(got.group, got.peer, got.tag));
    recorder_event(event, (uint32_t)call | (item_is_open(item) ? MPI_EVENT_CHOICE : 0), &got, what);
}
