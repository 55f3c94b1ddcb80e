#include "sources/mpi/layer.h"

/* Translates a rank in a communicator to its rank in MPI_COMM_WORLD. */
static int32_t world_rank(uint32_t group, int rank)
{
    const struct mpi_group *of = &recorder.record->groups[group];
    if (rank < 0 || (uint32_t)rank >= of->size)
        return MPI_ANYBODY;
    return (int32_t)recorder.record->members[of->first + (uint32_t)rank];
}

void turn_seek(struct recorder_route *way, MPI_Comm comm, int rank, int tag)
{
    uint32_t epoch = recorder_epoch(), group = recorder_group(HANDLE(comm));
    *way = (struct recorder_route){
        .comm = HANDLE(comm), .rank = rank, .tag = tag, .epoch = epoch, .group = group};
    if (group == MPI_GROUPS)
        return;
    way->peer = rank == MPI_ANY_SOURCE ? MPI_ANYBODY : world_rank(group, rank);
    if (way->peer != MPI_ANYBODY && tag != MPI_ANY_TAG)
        way->channel = recorder_channel(group, way->peer, tag);
}

bool turn_open(struct turn *turn, enum mpi_call call, MPI_Comm comm, int root)
{
    turn->slot = NULL;
    if (!recorder.record)
        return false;
    uint32_t group = recorder_group(HANDLE(comm));
    if (group == MPI_GROUPS)
        return false;
    turn->slot = recorder_slot();
    turn->way = NULL;
    turn->call = call;
    turn->item = (struct mpi_item){
        .kind = MPI_ITEM_COLLECTIVE,
        .peer = root < 0 ? MPI_ANYBODY : world_rank(group, root),
        .group = group,
    };
    return turn->slot;
}

void item_received(const struct mpi_item *item, const MPI_Status *status, enum mpi_event_kind event,
                   enum mpi_call call, uint64_t what)
{
    struct mpi_item got = *item;
    if (got.peer == MPI_ANYBODY)
        got.peer = world_rank(item->group, status->MPI_SOURCE);
    if (got.tag == MPI_ANYBODY)
        got.tag = status->MPI_TAG;
    recorder_received(recorder_channel(got.group, got.peer, got.tag));
    recorder_event(event, (uint32_t)call | (item_is_open(item) ? MPI_EVENT_CHOICE : 0), &got, what);
}
