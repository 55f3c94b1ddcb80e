#include "lab/published/avoid/pba.h"

#include "foundation/base/error.h"
#include "lab/published/kernels/published_pba.h"
#include "lab/published/published.h"

#define BLOCK_MOST 1024u /* threads of a block */

struct pba {
    gordian_allocator memory;
    struct gpu *gpu;
    uint32_t processes;
    struct published_pba_arguments on_device;
    uint32_t *able; /* the host's copy of a round's answers */
    struct pba_effort effort;
};

/* ------------------------------------------------------------------ memory */

static uint64_t *address_of(struct pba *pba, size_t which)
{
    uint64_t *const addresses[] = {
        &pba->on_device.request, &pba->on_device.maximum,   &pba->on_device.allocation,
        &pba->on_device.need,    &pba->on_device.available, &pba->on_device.work,
        &pba->on_device.finish,  &pba->on_device.able,      &pba->on_device.go_on,
    };
    return which < sizeof addresses / sizeof *addresses ? addresses[which] : NULL;
}

static size_t pba_cell_count(const struct pba *pba)
{
    return (size_t)pba->processes * pba->on_device.resources;
}

static gordian_status alloc_pba_arrays(struct pba *pba, gordian_error *error)
{
    size_t row = pba->on_device.resources, column = pba->processes, cells = pba_cell_count(pba);
    const size_t counts[] = {row, cells, cells, cells, row, row, column, column, 1};
    for (size_t i = 0; address_of(pba, i); i++)
        TRY(gpu_alloc(pba->gpu, address_of(pba, i), counts[i] * sizeof(uint32_t), error));
    return GORDIAN_OK;
}

void pba_close(struct pba *pba)
{
    if (!pba)
        return;
    for (size_t i = 0; address_of(pba, i); i++)
        gpu_free(pba->gpu, *address_of(pba, i));
    memory_free(&pba->memory, pba->able);
    memory_free(&pba->memory, pba);
}

/* ------------------------------------------------------------------ opening */

static gordian_status write_pba_state(struct pba *pba, const struct pba_state *state,
                                      gordian_error *error)
{
    struct gpu *gpu = pba->gpu;
    size_t row = pba->on_device.resources * sizeof(uint32_t), all = pba_cell_count(pba);
    uint32_t *need = memory_alloc(&pba->memory, all * sizeof *need);
    if (!need)
        return fail_memory(error);
    for (size_t i = 0; i < all; i++)
        need[i] = state->maximum[i] - state->allocation[i];
    gordian_status status = gpu_write(gpu, pba->on_device.need, need, all * sizeof *need, error);
    memory_free(&pba->memory, need);
    THEN(status,
         gpu_write(gpu, pba->on_device.maximum, state->maximum, all * sizeof(uint32_t), error));
    THEN(status, gpu_write(gpu, pba->on_device.allocation, state->allocation,
                           all * sizeof(uint32_t), error));
    THEN(status, gpu_write(gpu, pba->on_device.available, state->available, row, error));
    return status;
}

gordian_status pba_open(struct pba **out, struct gpu *gpu, const struct pba_state *state,
                        const gordian_allocator *wanted, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(wanted);
    struct pba *pba = memory_zeroed(&memory, sizeof *pba);
    *out = NULL;
    if (!pba)
        return fail_memory(error);
    *pba = (struct pba){.memory = memory,
                        .gpu = gpu,
                        .processes = state->processes,
                        .on_device.resources = state->resources};
    pba->able = memory_alloc(&memory, state->processes * sizeof *pba->able);
    gordian_status status = pba->able ? alloc_pba_arrays(pba, error) : fail_memory(error);
    THEN(status, write_pba_state(pba, state, error));
    if (status == GORDIAN_OK)
        *out = pba;
    else
        pba_close(pba);
    return status;
}

/* ------------------------------------------------------------------ phases */

/* Launches a kernel for one process, or for all of them (`blocks`). */
static gordian_status launch_phase(struct pba *pba, const char *kernel, uint32_t blocks,
                                   uint32_t process, gordian_error *error)
{
    uint32_t resources = pba->on_device.resources;
    uint32_t threads = resources < BLOCK_MOST ? resources : BLOCK_MOST;
    pba->on_device.process = process;
    pba->effort.launches++;
    struct gpu_launch launch =
        published_launch(kernel, blocks, threads, &pba->on_device, sizeof pba->on_device);
    launch.shared = threads * sizeof(uint32_t);
    return gpu_launch(pba->gpu, &launch, error);
}

static gordian_status write_pba_event(struct pba *pba, uint32_t process, const uint32_t *units,
                                      gordian_error *error)
{
    if (process >= pba->processes)
        return fail(error, GORDIAN_STATUS_INPUT, "there is no process %u", process);
    return gpu_write(pba->gpu, pba->on_device.request, units,
                     pba->on_device.resources * sizeof *units, error);
}

/* Runs one of the two checks of a request. */
static gordian_status ask_phase(struct pba *pba, const char *kernel, uint32_t process, bool *go_on,
                                gordian_error *error)
{
    uint32_t answer = 0;
    TRY(launch_phase(pba, kernel, 1, process, error));
    TRY(gpu_read(pba->gpu, &answer, pba->on_device.go_on, sizeof answer, error));
    *go_on = answer != 0;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ the search */

static gordian_status zero_column(struct pba *pba, gpu_address column, gordian_error *error)
{
    return gpu_zero(pba->gpu, column, pba->processes * sizeof(uint32_t), error);
}

/* Reads the answers on the host. Each process that can finish releases what it holds, with one
 * kernel. */
static gordian_status scan_round(struct pba *pba, uint32_t *finished, gordian_error *error)
{
    TRY(gpu_read(pba->gpu, pba->able, pba->on_device.able, pba->processes * sizeof *pba->able,
                 error));
    for (uint32_t i = 0; i < pba->processes; i++)
        if (pba->able[i] == 1) {
            ++*finished;
            TRY(launch_phase(pba, "published_pba_add", 1, i, error));
        }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ events */

gordian_status pba_request(struct pba *pba, uint32_t process, const uint32_t *units,
                           enum pba_answer *answer, gordian_error *error)
{
    bool go_on = false;
    pba->effort = (struct pba_effort){0};
    gordian_status status = write_pba_event(pba, process, units, error);
    THEN(status, ask_phase(pba, "published_pba_valid", process, &go_on, error));
    *answer = PBA_TOO_MUCH;
    if (status != GORDIAN_OK || !go_on)
        return status;
    status = ask_phase(pba, "published_pba_available", process, &go_on, error);
    *answer = PBA_MISSING;
    if (status != GORDIAN_OK || !go_on)
        return status;
    /* From the tentative allocation on. */
    bool safe = false;
    TRY(launch_phase(pba, "published_pba_allocate", 1, process, error));
    uint32_t finished = 0, before = 0;
    status = zero_column(pba, pba->on_device.finish, error);
    THEN(status, zero_column(pba, pba->on_device.able, error));
    while (status == GORDIAN_OK) {
        before = finished;
        status = launch_phase(pba, "published_pba_check", pba->processes, 0, error);
        THEN(status, scan_round(pba, &finished, error));
        pba->effort.rounds++;
        if (status != GORDIAN_OK || finished == pba->processes || finished == before)
            break;
        status = zero_column(pba, pba->on_device.able, error);
    }
    safe = finished == pba->processes;
    TRY(status);
    *answer = safe ? PBA_GRANTED : PBA_UNSAFE;
    if (!safe)
        TRY(launch_phase(pba, "published_pba_roll_back", 1, process, error));
    return gpu_wait(pba->gpu, error);
}

gordian_status pba_release(struct pba *pba, uint32_t process, const uint32_t *units,
                           gordian_error *error)
{
    TRY(write_pba_event(pba, process, units, error));
    TRY(launch_phase(pba, "published_pba_release", 1, process, error));
    return gpu_wait(pba->gpu, error);
}

struct pba_effort pba_effort(const struct pba *pba)
{
    return pba->effort;
}

gordian_status pba_read(struct pba *pba, struct pba_state *state, uint32_t *need,
                        gordian_error *error)
{
    const struct published_pba_arguments *from = &pba->on_device;
    size_t row = from->resources * sizeof(uint32_t), all = pba_cell_count(pba) * sizeof(uint32_t);
    TRY(gpu_read(pba->gpu, state->maximum, from->maximum, all, error));
    TRY(gpu_read(pba->gpu, state->allocation, from->allocation, all, error));
    TRY(gpu_read(pba->gpu, need, from->need, all, error));
    return gpu_read(pba->gpu, state->available, from->available, row, error);
}
