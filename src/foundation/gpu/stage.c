/* Fast copies through pinned memory by several threads (stage.h). */
#include "foundation/gpu/stage.h"

#include "foundation/base/machine.h"
#include "foundation/base/threads/thread_pool.h"

#include <string.h>

#define STAGE_FROM    ((size_t)32 << 20) /* below this, threads cost more than they save */
#define STAGE_PIECE   ((size_t)4 << 20)
#define STAGE_THREADS 8 /* enough to saturate any link */

struct staging {
    struct gpu *gpu;
    gpu_address there;
    char *here;
    size_t bytes, piece;
    bool up;              /* to the device */
    size_t next;          /* the next piece */
    pthread_mutex_t lock; /* protects what follows */
    gordian_status status;
    gordian_error failure;
};

struct gpu_stage gpu_stage_for(size_t bytes)
{
    struct machine machine;
    if (bytes < STAGE_FROM)
        return (struct gpu_stage){1, bytes};
    machine_describe(&machine);
    unsigned cores = machine.cores ? machine.cores : 1;
    return (struct gpu_stage){cores < STAGE_THREADS ? cores : STAGE_THREADS, STAGE_PIECE};
}

static void note_failure(struct staging *staging, gordian_status status,
                         const gordian_error *failure)
{
    pthread_mutex_lock(&staging->lock);
    if (staging->status == GORDIAN_OK) {
        staging->status = status;
        staging->failure = *failure;
    }
    pthread_mutex_unlock(&staging->lock);
}

/* `pinned` may be NULL. */
static gordian_status move_piece(struct staging *staging, size_t at, size_t count, void *pinned,
                                 gordian_error *error)
{
    char *here = staging->here + at;
    char *through = pinned ? pinned : here;
    if (staging->up) {
        if (pinned)
            memcpy(pinned, here, count);
        return gpu_write(staging->gpu, staging->there + at, through, count, error);
    }
    TRY(gpu_read(staging->gpu, through, staging->there + at, count, error));
    if (pinned)
        memcpy(here, pinned, count);
    return GORDIAN_OK;
}

static void move_pieces(void *context, unsigned member)
{
    struct staging *staging = context;
    void *pinned = NULL;
    gpu_address unused;
    (void)member;
    if (gpu_map(staging->gpu, &pinned, &unused, staging->piece, NULL) != GORDIAN_OK)
        pinned = NULL;
    for (;;) {
        gordian_error failure = {0};
        size_t at = __atomic_fetch_add(&staging->next, 1, __ATOMIC_RELAXED) * staging->piece;
        if (at >= staging->bytes)
            break;
        size_t left = staging->bytes - at;
        gordian_status status = move_piece(
            staging, at, left < staging->piece ? left : staging->piece, pinned, &failure);
        if (status != GORDIAN_OK) {
            note_failure(staging, status, &failure);
            break;
        }
    }
    if (pinned)
        gpu_unmap(staging->gpu, pinned);
}

static gordian_status move_all(struct staging *staging, struct gpu_stage stage,
                               gordian_error *error)
{
    staging->piece = stage.piece;
    pthread_mutex_init(&staging->lock, NULL);
    thread_pool_run(stage.threads, move_pieces, staging);
    pthread_mutex_destroy(&staging->lock);
    if (staging->status != GORDIAN_OK && error)
        *error = staging->failure;
    return staging->status;
}

gordian_status gpu_write_staged(struct gpu *gpu, gpu_address to, const void *from, size_t bytes,
                                struct gpu_stage stage, gordian_error *error)
{
    if (stage.threads < 2)
        return gpu_write(gpu, to, from, bytes, error);
    struct staging staging = {
        .gpu = gpu, .there = to, .here = (char *)(uintptr_t)from, .bytes = bytes, .up = true};
    return move_all(&staging, stage, error);
}

gordian_status gpu_read_staged(struct gpu *gpu, void *to, gpu_address from, size_t bytes,
                               struct gpu_stage stage, gordian_error *error)
{
    if (stage.threads < 2)
        return gpu_read(gpu, to, from, bytes, error);
    struct staging staging = {.gpu = gpu, .there = from, .here = to, .bytes = bytes};
    return move_all(&staging, stage, error);
}
