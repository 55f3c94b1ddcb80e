/* The circuit's indivisible firings (firing.h) as words. */
#include "engines/compose/explore/packed_internal.h"

#include "engines/compose/explore/firing.h"
#include "foundation/base/error.h"

#include <string.h>

static gordian_status pack_firings(struct packed *packed, const struct firings *list,
                                   gordian_error *error)
{
    size_t n = list->count;
    if (!list->complete || n > PACKED_FIRINGS_MAX)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "more than %u indivisible firings",
                    PACKED_FIRINGS_MAX);
    packed->firings = memory_zeroed(&packed->memory, (n + 1) * sizeof *packed->firings);
    packed->labels = memory_zeroed(&packed->memory,
                                   (n * packed->circuit->label_words + 1) * sizeof *packed->labels);
    packed->movers =
        memory_zeroed(&packed->memory, (n * packed_mover_words(packed) + 1) * sizeof(uint64_t));
    if (!packed->firings || !packed->labels || !packed->movers)
        return fail_memory(error);
    for (size_t i = 0; i < n; i++) {
        size_t words = packed->circuit->label_words, mover_words = packed_mover_words(packed);
        struct compose_firing *firing = &packed->firings[i];
        memcpy(packed->labels + i * words, firing_label(list, i), words * sizeof(uint64_t));
        const struct firing_move *moves = list->moves + list->first[i];
        size_t count = list->first[i + 1] - list->first[i];
        struct patch patch = {0};
        patches_of(&packed->packing, moves, count, &patch); /* a state is a word: one patch */
        *firing =
            (struct compose_firing){.mask = patch.mask, .value = patch.value, .flip = patch.flip};
        for (size_t m = 0; m < count; m++)
            bits_set(packed->movers + i * mover_words, moves[m].factor);
    }
    packed->firing_count = n;
    return GORDIAN_OK;
}

gordian_status packed_find_firings(struct packed *packed, gordian_error *error)
{
    struct firings list;
    TRY(firings_open(&list, packed->circuit, &packed->memory, error));
    gordian_status status = pack_firings(packed, &list, error);
    firings_free(&list);
    return status;
}
