#include "ptx/own.h"

#include <string.h>

/* As in gpu/kernels/osdda.cu. */
#define LINE_CHUNKS 8u /* of 128 bits */
#define CHUNK_BITS  128u
#define TILE        1024u
#define AHEAD       4u
#define WARP        32u

const char *const own_event_names[OWN_EVENTS + 1] = {
    [OWN_GRANT] = "grant",   [OWN_BLOCK] = "block",     [OWN_HAND_OVER] = "hand-over",
    [OWN_CANCEL] = "cancel", [OWN_REBUILD] = "rebuild",
};

static uint64_t parts(uint64_t whole, uint64_t part)
{
    return (whole + part - 1) / part;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Chunks of a row of so many bits: whole lines. */
static uint64_t chunks(uint64_t bits)
{
    return parts(parts(bits, CHUNK_BITS), LINE_CHUNKS) * LINE_CHUNKS;
}

static void passes(struct own_question *question, const char *loop, uint64_t count)
{
    question->loops[question->loop_count++] =
        (struct ptx_named){.name = loop, .length = strlen(loop), .value = count};
}

static void waits(struct own_question *question)
{
    static const char *const loops[] = {"service_fetch", "service_settled", "service_follow",
                                        "grid_barrier"};
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++)
        passes(question, loops[i], 1);
}

void own_ask(struct own_question *question, enum own_event event, uint32_t resources,
             uint32_t processes, uint32_t blocks)
{
    bool combines = event == OWN_BLOCK || event == OWN_CANCEL, rebuilds = event == OWN_REBUILD;
    uint64_t stride = chunks(resources) + chunks(processes), tile = least(stride, TILE);
    uint64_t rows = parts(resources, blocks); /* of a block */
    uint64_t of_threads = parts(rows, OWN_THREADS), of_warps = parts(rows, OWN_THREADS / WARP);
    uint64_t doublings = 0;
    while (doublings < 32 && UINT64_C(1) << doublings < resources)
        doublings++;
    /* An event that only the leader handles is a round of the leader's loop; the others are a step
     * of the grid. */
    const char *round = event == OWN_GRANT ? "lead_command" : "osdda_service/1";
    *question = (struct own_question){.entry = "osdda_service", .from = round, .to = round};
    if (event == OWN_GRANT)
        question->avoid = "osdda_service/1";
    waits(question);
    if (event != OWN_GRANT)
        passes(question, "lead_command", 1);
    passes(question, "combine_paths/1", combines ? of_threads : 0);
    passes(question, "combine_paths/2", parts(stride, TILE));
    passes(question, "gather", parts(tile, OWN_THREADS));
    passes(question, "combine", parts(least(rows, OWN_THREADS) * tile, AHEAD * OWN_THREADS));
    passes(question, "hand_over", event == OWN_HAND_OVER ? of_threads : 0);
    passes(question, "rebuild/1", rebuilds ? of_warps : 0);
    passes(question, "rebuild/2", rebuilds ? doublings : 0);
    passes(question, "rebuild/3", of_warps);
    passes(question, "lay_row", parts(stride, WARP));
    passes(question, "append_row", parts(stride, WARP));
}

uint32_t own_blocks(uint32_t resources, uint32_t multiprocessors)
{
    uint32_t wanted = resources / 16 + 1;
    return wanted < multiprocessors ? wanted : multiprocessors;
}
