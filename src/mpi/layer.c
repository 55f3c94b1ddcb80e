#include "mpi/layer.h"

/* The rank in the world of a rank in a communicator. */
static int32_t world_rank(uint32_t group, int rank)
{
    const struct mpi_group *of = &book.record->groups[group];
    if (rank < 0 || (uint32_t)rank >= of->size)
        return MPI_ANYBODY;
    return (int32_t)book.record->members[of->first + (uint32_t)rank];
}

bool turn_open(struct turn *turn, enum mpi_call call, MPI_Comm comm, int peer, int tag)
{
    turn->slot = NULL;
    if (!book.record || peer == MPI_PROC_NULL)
        return false;
    uint32_t group = book_group(HANDLE(comm));
    if (group == MPI_GROUPS)
        return false;
    turn->slot = book_slot();
    turn->call = call;
    turn->item = (struct mpi_item){
        .peer = peer == MPI_ANY_SOURCE ? MPI_ANYBODY : world_rank(group, peer),
        .tag = tag == MPI_ANY_TAG ? MPI_ANYBODY : tag,
        .group = group,
    };
    return turn->slot;
}

void turn_wait(struct turn *turn)
{
    book_prepare(turn->slot, turn->call);
    book_item(turn->slot, &turn->item);
    book_turn(turn->slot);
}

void item_receive(struct mpi_item *item, enum mpi_item_kind kind)
{
    item->kind = kind;
    item->number = book_number();
}

void item_send(struct mpi_item *item, enum mpi_item_kind kind)
{
    item->kind = kind;
    item->number = book_sent(item->group, item->peer, item->tag);
}

void item_received(const struct mpi_item *item, const MPI_Status *status, enum mpi_event_kind event,
                   enum mpi_call call, uint64_t what)
{
    struct mpi_item got = *item;
    if (got.peer == MPI_ANYBODY)
        got.peer = world_rank(item->group, status->MPI_SOURCE);
    if (got.tag == MPI_ANYBODY)
        got.tag = status->MPI_TAG;
    book_received(got.group, got.peer, got.tag);
    book_event(event, (uint32_t)call | (item_is_open(item) ? MPI_EVENT_CHOICE : 0), &got, what,
               book_group_id(got.group));
}
