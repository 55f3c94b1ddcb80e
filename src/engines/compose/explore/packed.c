/* Packed states: the layout, numbers, and walking back (packed.h). The firings are found in
 * packed_firings.c. */
#include "engines/compose/explore/packed_internal.h"

#include "foundation/base/error.h"

#include <stdio.h>
#include <string.h>

void packed_free(struct packed *packed)
{
    if (!packed)
        return;
    gordian_allocator memory = packed->memory;
    packing_close(&packed->packing);
    memory_free_all(&memory, packed->firings, packed->labels, packed->movers, packed->ends, packed);
}

static gordian_status lay_out(struct packed *packed, gordian_error *error)
{
    TRY(packing_open(&packed->packing, packed->circuit, NULL, &packed->memory, error));
    uint64_t bits = packed->packing.bits;
    return bits <= PACKED_BITS ? GORDIAN_OK
                               : fail(error, GORDIAN_STATUS_UNAVAILABLE,
                                      "a state takes %llu bits: at most %u are possible",
                                      (unsigned long long)bits, PACKED_BITS);
}

gordian_status packed_open(struct packed **out, const gordian_circuit *circuit,
                           const gordian_allocator *memory, gordian_error *error)
{
    gordian_allocator from = memory_allocator(memory);
    struct packed *packed = memory_zeroed(&from, sizeof *packed);
    *out = NULL;
    if (!packed)
        return fail_memory(error);
    packed->memory = packed->packing.memory = from;
    packed->circuit = circuit;
    gordian_status status = lay_out(packed, error);
    THEN(status, packed_find_firings(packed, error));
    THEN(status, packed_find_parts(packed, error));
    if (status != GORDIAN_OK) {
        packed_free(packed);
        return status;
    }
    *out = packed;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ states and numbers */

/* Digit by digit: by the states of each factor, or by its initial ones. */
static uint64_t state_of_digits(const struct packed *packed, uint64_t number, bool initial)
{
    uint64_t state = 0;
    for (uint32_t f = 0; f < packed->circuit->factor_count; f++) {
        const struct shape *shape = factor_shape(packed->circuit, f);
        uint32_t count = initial ? shape->initial_count : shape->state_count;
        state |= number % count << packed->packing.fields[f].shift;
        number /= count;
    }
    return state;
}

uint64_t packed_of_number(const struct packed *packed, uint64_t number)
{
    return state_of_digits(packed, number, false);
}

uint64_t packed_initial(const struct packed *packed, uint64_t i)
{
    return state_of_digits(packed, i, true);
}

uint64_t packed_number(const struct packed *packed, uint64_t state)
{
    uint64_t number = 0;
    for (uint32_t f = (uint32_t)packed->circuit->factor_count; f-- > 0;)
        number = number * factor_shape(packed->circuit, f)->state_count +
                 packed_local(&packed->packing, &state, f);
    return number;
}

struct compose_word_firing packed_word_firing(const struct compose_firing *firing)
{
    uint64_t low = 63, to = firing->value ^ firing->flip;
    return (struct compose_word_firing){
        .mask = firing->mask >> 6,
        .value = firing->value >> 6,
        .flip = firing->flip >> 6,
        .pattern = packed_places(firing->mask, firing->value),
        .shift = (int32_t)(to & low) - (int32_t)(firing->value & low),
    };
}

/* ------------------------------------------------------------------ labels */

void packed_label(const struct packed *packed, const uint32_t *chosen, uint32_t count,
                  uint64_t *label)
{
    size_t words = packed->circuit->label_words;
    memset(label, 0, words * sizeof *label);
    for (uint32_t i = 0; i < count; i++)
        for (size_t w = 0; w < words; w++)
            label[w] |= packed->labels[chosen[i] * words + w];
}

/* ------------------------------------------------------------------ walking back */

/* Could this firing have led here, beside those chosen? Forwards, firings that can never be enabled
 * together are not told apart by `uses`; backwards they have to be, so the factors decide. */
static bool fits_back(const struct packed *packed, uint64_t state, const uint32_t *chosen,
                      uint32_t count, uint32_t f)
{
    const struct compose_firing *firing = &packed->firings[f];
    size_t words = packed_mover_words(packed);
    if ((state & firing->mask) != (firing->value ^ firing->flip))
        return false;
    for (uint32_t i = 0; i < count; i++)
        for (size_t w = 0; w < words; w++)
            if (packed->movers[chosen[i] * words + w] & packed->movers[f * words + w])
                return false;
    return true;
}

void packed_walk_back(const struct packed *packed, uint64_t state, packed_before *before,
                      void *context)
{
    uint32_t chosen[COMPOSE_DEPTH], depth = 0, f = 0;
    uint64_t from = state;
    for (;;) {
        for (; f < packed->firing_count; f++) {
            if (depth == COMPOSE_DEPTH || !fits_back(packed, state, chosen, depth, f))
                continue;
            chosen[depth++] = f;
            from ^= packed->firings[f].flip;
            if (!before(context, from, chosen, depth))
                return;
        }
        if (depth == 0)
            return;
        f = chosen[--depth];
        from ^= packed->firings[f++].flip;
    }
}

bool packed_supports(const void *problem, const char **why)
{
    /* The reason has to live somewhere after this returns; a thread asks for itself. */
    static _Thread_local char reason[256];
    const struct compose_problem *asked = problem;
    struct packed *packed;
    gordian_error error = {0};
    gordian_status status = packed_open(&packed, asked->circuit, asked->options->allocator, &error);
    packed_free(packed);
    if (status != GORDIAN_STATUS_UNAVAILABLE)
        return true; /* out of memory shows when it runs */
    snprintf(reason, sizeof reason, "%.240s", error.message);
    *why = reason;
    return false;
}
