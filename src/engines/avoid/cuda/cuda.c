/* The cuda engine: the banker's algorithm on a GPU, and on the CPU if that fails (cuda.h). */
#include "engines/avoid/cuda/cuda.h"

#include "engines/avoid/engine/safety_algorithm.h"
#include "foundation/base/error.h"

#include <string.h>

struct cuda_bank {
    gordian_allocator memory;
    const struct ledger *ledger;
    struct gpu *gpu;
    struct banker *banker; /* NULL: the device has failed and `fallback` decides */

    struct search fallback; /* its memory is reserved from the start */
    gordian_error why;
};

/* ------------------------------------------------------------------ is there a device? */

static void close_bank_device(struct cuda_bank *e)
{
    banker_close(e->banker);
    e->banker = NULL;
    if (e->gpu)
        gpu_close(e->gpu);
    e->gpu = NULL;
}

static void cuda_bank_close(void *engine)
{
    struct cuda_bank *e = engine;
    close_bank_device(e);
    search_free(&e->fallback);
    gordian_allocator memory = e->memory;
    memory_free(&memory, e);
}

static gordian_status cuda_bank_open(void **engine, const struct ledger *ledger,
                                     gordian_error *error)
{
    struct cuda_bank *e = memory_zeroed(&ledger->memory, sizeof *e);
    if (!e)
        return fail_memory(error);
    e->memory = ledger->memory;
    e->ledger = ledger;
    search_init(&e->fallback, ledger);
    gordian_status status = GORDIAN_OK;
    if (!search_reserve(&e->fallback, ledger->process_limit, ledger->resource_limit))
        status = fail_memory(error);
    THEN(status, gpu_open_default(&e->gpu, &ledger->memory, error));
    THEN(status, banker_open(&e->banker, e->gpu, ledger, error));
    THEN(status, banker_reserve(e->banker, ledger->process_limit, ledger->resource_limit, error));
    if (status != GORDIAN_OK) {
        cuda_bank_close(e);
        return status;
    }
    *engine = e;
    return GORDIAN_OK;
}

struct banker *cuda_engine_banker(void *engine)
{
    struct cuda_bank *e = engine;
    return e->banker;
}

/* ------------------------------------------------------------------ falling back */

static void fall_back_to_search(struct cuda_bank *e, const gordian_error *trouble)
{
    fail(&e->why, GORDIAN_STATUS_IO, "%s, the CPU is used instead: %.300s",
         trouble->status == GORDIAN_STATUS_MEMORY ? "the device has too little memory"
                                                  : "the device failed",
         trouble->message);
    close_bank_device(e);
}

static const char *avoid_cuda_note(const void *engine)
{
    const struct cuda_bank *e = engine;
    return e->banker ? NULL : e->why.message;
}

/* ------------------------------------------------------------------ memory */

static gordian_status cuda_bank_prepare(void *engine, uint32_t process_limit,
                                        uint32_t resource_limit, uint64_t claims,
                                        gordian_error *error)
{
    struct cuda_bank *e = engine;
    (void)claims; /* full matrices cover all claims */
    if (!search_reserve(&e->fallback, process_limit, resource_limit))
        return fail_memory(error);
    if (!e->banker)
        return GORDIAN_OK;
    gordian_error trouble = {0};
    gordian_status status = banker_reserve(e->banker, process_limit, resource_limit, &trouble);
    if (status == GORDIAN_STATUS_IO) {
        fall_back_to_search(e, &trouble);
        return GORDIAN_OK;
    }
    return status != GORDIAN_OK ? fail(error, status, "engine cuda: %.380s", trouble.message)
                                : GORDIAN_OK;
}

/* ------------------------------------------------------------------ hooks */

/* Touches all of a row. */
static void touch_row(struct cuda_bank *e, uint32_t process)
{
    const struct ledger_row *row = &e->ledger->rows[process];
    for (uint32_t k = 0; k < row->count; k++) {
        banker_touch(e->banker, process, row->claims[k].resource);
        if (row->claims[k].held)
            banker_touch_free(e->banker, row->claims[k].resource);
    }
}

static void cuda_row_changes(void *engine, uint32_t process)
{
    struct cuda_bank *e = engine;
    if (e->banker)
        touch_row(e, process);
}

static void cuda_returned(void *engine, uint32_t process, const gordian_want *wants, size_t count)
{
    struct cuda_bank *e = engine;
    if (!e->banker)
        return;
    for (size_t i = 0; i < count; i++) {
        banker_touch(e->banker, process, wants[i].resource);
        banker_touch_free(e->banker, wants[i].resource);
    }
}

static void cuda_resized(void *engine, uint32_t resource)
{
    struct cuda_bank *e = engine;
    if (e->banker)
        banker_touch_free(e->banker, resource);
}

static void cuda_took(void *engine, const struct ledger_change *change)
{
    struct cuda_bank *e = engine;
    if (!e->banker)
        return;
    switch (change->kind) {
    case CHANGE_LEND:
        cuda_returned(e, change->process, change->wants, change->count);
        break;
    case CHANGE_CLAIMS: /* what it no longer claims was touched by the question */
        touch_row(e, change->process);
        break;
    case CHANGE_TAKE:
        banker_touch_free(e->banker, change->wants[0].resource);
        break;
    }
}

/* ------------------------------------------------------------------ questions */

/* Returns whether the borrower could finish with what is then free. */
static bool fits_at_once(const struct ledger *ledger, const struct ledger_change *change)
{
    const struct ledger_row *row = &ledger->rows[change->process];
    /* Both are lower by what is lent, so their difference does not change. */
    for (uint32_t k = 0; k < row->count; k++)
        if (row->claims[k].need > ledger->free[row->claims[k].resource])
            return false;
    return true;
}

static bool cuda_safe(void *engine, const struct ledger_change *change)
{
    struct cuda_bank *e = engine;
    bool safe = true;
    gordian_error trouble = {0};
    if (change->kind == CHANGE_LEND && fits_at_once(e->ledger, change))
        return true;
    if (e->banker) {
        if (!banker_safe(e->banker, change, &safe, &trouble)) {
            if (change->kind == CHANGE_CLAIMS)
                touch_row(e, change->process);
            return safe;
        }
        fall_back_to_search(e, &trouble);
    }
    search_forget_all(&e->fallback); /* it is not informed of changes */
    return search_run(&e->fallback, change, NULL, 0);
}

static gordian_status cuda_safe_each(void *engine, const struct ledger_change *changes,
                                     size_t count, bool *safe, gordian_error *error)
{
    struct cuda_bank *e = engine;
    bool all_loans = true;
    (void)error;
    for (size_t i = 0; i < count; i++)
        all_loans &= changes[i].kind == CHANGE_LEND;
    if (e->banker && all_loans) {
        gordian_error trouble = {0};
        gordian_status status = banker_safe_each(e->banker, changes, count, safe, &trouble);
        if (status == GORDIAN_OK)
            return GORDIAN_OK;
        if (status == GORDIAN_STATUS_IO)
            fall_back_to_search(e, &trouble);
    }
    for (size_t i = 0; i < count; i++)
        safe[i] = cuda_safe(e, &changes[i]);
    return GORDIAN_OK;
}

static void cuda_sequence(void *engine, uint32_t *processes)
{
    struct cuda_bank *e = engine;
    gordian_error trouble = {0};
    if (e->banker) {
        if (!banker_sequence(e->banker, processes, &trouble))
            return;
        fall_back_to_search(e, &trouble);
    }
    search_forget_all(&e->fallback);
    search_run(&e->fallback, NULL, NULL, 0);
    if (e->fallback.done_count > 0)
        memcpy(processes, e->fallback.done, e->fallback.done_count * sizeof *processes);
    processes += e->fallback.done_count;
    for (uint32_t i = 0; i < e->ledger->process_limit;
         i++) /* processes that hold nothing were left out */
        if (ledger_is_process(e->ledger, i) && e->ledger->rows[i].holding == 0)
            *processes++ = i;
}

const struct avoid_engine avoid_cuda = {
    .about =
        {
            .name = "cuda",
            .summary = "the banker's algorithm on an NVIDIA GPU; many requests at once",
            .available = gpu_available,
            .dense = true,
        },
    .open = cuda_bank_open,
    .close = cuda_bank_close,
    .prepare = cuda_bank_prepare,
    .joined = cuda_row_changes,
    .leaves = cuda_row_changes,
    .returned = cuda_returned,
    .resized = cuda_resized,
    .took = cuda_took,
    .safe = cuda_safe,
    .safe_each = cuda_safe_each,
    .sequence = cuda_sequence,
    .note = avoid_cuda_note,
};
