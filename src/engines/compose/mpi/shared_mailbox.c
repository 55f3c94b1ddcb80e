/* Messages in shared memory between the ranks of a machine (shared_mailbox.h). */
#include "engines/compose/mpi/shared_mailbox.h"
#include "engines/compose/mpi/mpi_internal.h"

#include "foundation/base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LINE 128u /* bytes of two adjacent cache lines */

struct message {
    uint64_t next; /* 1 + the number of another one; 0: none */
    uint64_t count;
    struct cell_pair pairs[POST_PAIRS];
};

/* Lists of messages: 1 + the number of the first one. */
struct segment {
    _Atomic uint64_t mailbox;
    char apart[LINE - sizeof(uint64_t)];
    union {
        _Atomic uint64_t returned;
        char line[LINE]; /* a cache line of its own */
    };
    struct message messages[];
};

/* ------------------------------------------------------------------ open and close */

static bool share_memory(struct post *post)
{
    void *own = NULL;
    MPI_Aint bytes =
        (MPI_Aint)(sizeof(struct segment) + (size_t)post->messages * sizeof(struct message));
    if (MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, post->machine, (void *)&own,
                                &post->window) != MPI_SUCCESS)
        return false;
    post->open = true;
    for (int place = 0; place < post->count; place++) {
        MPI_Aint size;
        int unit;
        void *at;
        MPI_Win_shared_query(post->window, place, &size, &unit, (void *)&at);
        post->segments[place] = at;
    }
    return true;
}

static void forget_places(struct post *post)
{
    memory_free_all(&post->memory, post->places, (void *)post->segments);
    post->places = NULL;
    post->segments = NULL;
}

void post_open(struct post *post, int ranks, const gordian_allocator *memory)
{
    *post = (struct post){.memory = *memory};
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &post->machine);
    MPI_Comm_set_errhandler(post->machine, MPI_ERRORS_RETURN);
    MPI_Comm_rank(post->machine, &post->place);
    MPI_Comm_size(post->machine, &post->count);
    post->messages = 4 * (uint64_t)post->count;
    post->places = memory_alloc(memory, (size_t)ranks * sizeof *post->places);
    post->segments = memory_alloc(memory, (size_t)post->count * sizeof *post->segments);
    bool fine = post->places && post->segments && ranks > 1 && !getenv("GORDIAN_MPI_MESSAGES");
    fine = ranks_agree(fine) && share_memory(post);
    if (ranks_agree(fine)) {
        MPI_Group world, machine;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Comm_group(post->machine, &machine);
        for (int rank = 0; rank < ranks; rank++) {
            MPI_Group_translate_ranks(world, 1, &rank, machine, &post->places[rank]);
            if (post->places[rank] == MPI_UNDEFINED)
                post->places[rank] = -1;
        }
        MPI_Group_free(&world);
        MPI_Group_free(&machine);
        /* All messages of this rank are free. */
        struct segment *segment = post->segments[post->place];
        uint64_t first = (uint64_t)post->place * post->messages;
        atomic_store(&segment->mailbox, 0);
        atomic_store(&segment->returned, 0);
        for (uint64_t i = 0; i < post->messages; i++)
            segment->messages[i].next = i + 1 < post->messages ? first + i + 2 : 0;
        post->spare = first + 1;
    } else {
        forget_places(post);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

void post_close(struct post *post)
{
    forget_places(post);
    if (post->open)
        MPI_Win_free(&post->window);
    post->open = false;
    MPI_Comm_free(&post->machine);
}

/* ------------------------------------------------------------------ messages */

static struct message *message_at(const struct post *post, uint64_t number)
{
    return &post->segments[(number - 1) / post->messages]->messages[(number - 1) % post->messages];
}

static void push_message(const struct post *post, _Atomic uint64_t *list, uint64_t number)
{
    struct message *message = message_at(post, number);
    uint64_t first = atomic_load_explicit(list, memory_order_relaxed);
    do
        message->next = first;
    while (!atomic_compare_exchange_weak_explicit(list, &first, number, memory_order_release,
                                                  memory_order_relaxed));
}

/* Takes the whole list. */
static uint64_t take_list(_Atomic uint64_t *list)
{
    if (!atomic_load_explicit(list, memory_order_relaxed))
        return 0;
    return atomic_exchange_explicit(list, 0, memory_order_acquire);
}

bool post_begin(struct post *post, struct cells_box *box)
{
    if (!post->spare)
        post->spare = take_list(&post->segments[post->place]->returned);
    if (!post->spare)
        return false;
    struct message *message = message_at(post, post->spare);
    post->spare = message->next;
    *box = (struct cells_box){.pairs = message->pairs, .room = POST_PAIRS};
    return true;
}

void post_send(struct post *post, uint32_t rank, const struct cells_box *box)
{
    struct segment *own = post->segments[post->place];
    struct message *message =
        (struct message *)((char *)box->pairs - offsetof(struct message, pairs));
    message->count = box->count;
    push_message(post, &post->segments[post->places[rank]]->mailbox,
                 (uint64_t)post->place * post->messages + (uint64_t)(message - own->messages) + 1);
}

uint64_t post_read(struct post *post, struct cells *cells, bool drop)
{
    if (!post->places)
        return 0;
    uint64_t number = take_list(&post->segments[post->place]->mailbox), count = 0;
    for (uint64_t next; number; number = next, count++) {
        struct message *message = message_at(post, number);
        next = message->next;
        if (!drop)
            cells_enter(cells, message->pairs, message->count);
        push_message(post, &post->segments[(number - 1) / post->messages]->returned, number);
    }
    return count;
}
