/* States as machine words: the layout, and the firings as patches (packing.h). */
#include "engines/compose/explore/packing.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

void packing_close(struct packing *packing)
{
    memory_free_all(&packing->memory, packing->fields, packing->first, packing->patches,
                    packing->rivals);
    *packing = (struct packing){.memory = packing->memory};
}

void pack_state(const struct packing *packing, const uint32_t *locals, uint64_t *state)
{
    memset(state, 0, packing->words * sizeof *state);
    for (uint32_t f = 0; f < packing->circuit->factor_count; f++)
        state[packing->fields[f].word] |= (uint64_t)locals[f] << packing->fields[f].shift;
}

void unpack_state(const struct packing *packing, const uint64_t *state, uint32_t *locals)
{
    for (uint32_t f = 0; f < packing->circuit->factor_count; f++)
        locals[f] = packed_local(packing, state, f);
}

size_t patches_of(const struct packing *packing, const struct firing_move *moves, size_t count,
                  struct patch *patches)
{
    size_t made = 0;
    for (size_t i = 0; i < count; i++) {
        struct packed_field field = packing->fields[moves[i].factor];
        if (made == 0 || patches[made - 1].word != field.word)
            patches[made++] = (struct patch){.word = field.word};
        struct patch *patch = &patches[made - 1];
        patch->mask |= ((UINT64_C(1) << field.bits) - 1) << field.shift;
        patch->value |= (uint64_t)moves[i].from << field.shift;
        patch->flip |= (uint64_t)(moves[i].from ^ moves[i].to) << field.shift;
    }
    return made;
}

/* Is there a state in which both firings are enabled? */
static bool can_meet(const struct firings *firings, size_t one, size_t other)
{
    size_t i = firings->first[one], k = firings->first[other];
    while (i < firings->first[one + 1] && k < firings->first[other + 1]) {
        const struct firing_move *a = &firings->moves[i], *b = &firings->moves[k];
        if (a->factor == b->factor && a->from != b->from)
            return false;
        i += a->factor <= b->factor;
        k += b->factor <= a->factor;
    }
    return true;
}

#define RIVALS_MAX 256 /* firings of one factor and state; more are not compared in pairs */

/* Compares the firings that move the same factor from the same state in pairs. */
static void compare_rivals(struct packing *packing, const size_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (count > RIVALS_MAX)
            packing->rivals[list[i]] = true;
        for (size_t k = 0; k < i && count <= RIVALS_MAX; k++) {
            if (packing->rivals[list[i]] && packing->rivals[list[k]])
                continue;
            if (can_meet(packing->firings, list[i], list[k]))
                packing->rivals[list[i]] = packing->rivals[list[k]] = true;
        }
    }
}

/* Sorts the firings by (factor, state) of all their moves, and compares those with a common one. */
static bool find_rivals(struct packing *packing)
{
    const struct firings *firings = packing->firings;
    const gordian_allocator *memory = &packing->memory;
    size_t buckets = firings->bucket_of[packing->circuit->factor_count];
    size_t *start = memory_zeroed(memory, (buckets + 2) * sizeof *start);
    size_t *list = memory_alloc(memory, firings->move_count * sizeof *list);
    bool fine = start && list;
    size_t *next = start + 1; /* shifted by one: the counts become the starts */
    for (size_t i = 0; fine && i < firings->move_count; i++)
        next[firings->bucket_of[firings->moves[i].factor] + firings->moves[i].from + 1]++;
    for (size_t b = 1; fine && b <= buckets; b++)
        next[b] += next[b - 1];
    for (size_t i = 0; fine && i < firings->count; i++)
        for (size_t m = firings->first[i]; m < firings->first[i + 1]; m++)
            list[next[firings->bucket_of[firings->moves[m].factor] + firings->moves[m].from]++] = i;
    for (size_t b = 0; fine && b < buckets; b++)
        compare_rivals(packing, list + start[b], start[b + 1] - start[b]);
    memory_free_all(memory, start, list);
    return fine;
}

static bool make_patches(struct packing *packing)
{
    const struct firings *firings = packing->firings;
    const gordian_allocator *memory = &packing->memory;
    packing->first = memory_alloc(memory, (firings->count + 1) * sizeof(size_t));
    packing->patches = memory_alloc(memory, firings->move_count * sizeof(struct patch));
    packing->rivals = memory_zeroed(memory, firings->count);
    if (!packing->first || !packing->patches || !packing->rivals)
        return false;
    packing->first[0] = 0;
    for (size_t i = 0; i < firings->count; i++)
        packing->first[i + 1] =
            packing->first[i] + patches_of(packing, firings->moves + firings->first[i],
                                           firings->first[i + 1] - firings->first[i],
                                           packing->patches + packing->first[i]);
    return find_rivals(packing);
}

gordian_status packing_open(struct packing *packing, const gordian_circuit *circuit,
                            const struct firings *firings, const gordian_allocator *memory,
                            gordian_error *error)
{
    *packing = (struct packing){.memory = *memory, .circuit = circuit, .firings = firings};
    packing->fields = memory_alloc(memory, circuit->factor_count * sizeof *packing->fields);
    bool fine = packing->fields;
    if (fine) {
        uint32_t word = 0, used = 0;
        for (uint32_t f = 0; f < packing->circuit->factor_count; f++) {
            uint8_t bits = 0;
            while (factor_shape(circuit, f)->state_count > (UINT64_C(1) << bits))
                bits++;
            if (used + bits > 63) {
                word++;
                used = 0;
            }
            packing->fields[f] = (struct packed_field){word, (uint8_t)used, bits};
            used += bits;
            packing->bits += bits;
        }
        packing->words = (size_t)word + 1;
    }
    if (fine && firings && firings->complete)
        fine = make_patches(packing);
    if (fine)
        return GORDIAN_OK;
    packing_close(packing);
    return fail_memory(error);
}

bool packing_describe(const struct packing *packing, const uint64_t *state,
                      gordian_compose_result *result)
{
    size_t size = (packing->circuit->factor_count + 1) * sizeof(uint32_t);
    if (!result->found)
        result->found = memory_zeroed(&result->allocator, sizeof *result->found);
    uint32_t *locals = result->found ? memory_alloc(&result->allocator, size) : NULL;
    if (!locals)
        return false;
    unpack_state(packing, state, locals);
    result->found[0] = (gordian_compose_deadlock){.number = UINT64_MAX, .state = locals};
    result->found_count = 1;
    return true;
}

void initial_first(const gordian_circuit *circuit, uint32_t *locals)
{
    memset(locals, 0, circuit->factor_count * sizeof *locals);
}

bool initial_next(const gordian_circuit *circuit, uint32_t *locals)
{
    for (uint32_t f = 0; f < circuit->factor_count; f++) {
        if (++locals[f] < factor_shape(circuit, f)->initial_count)
            return true;
        locals[f] = 0;
    }
    return false;
}

bool initial_is(const gordian_circuit *circuit, const uint32_t *locals)
{
    for (uint32_t f = 0; f < circuit->factor_count; f++)
        if (locals[f] >= factor_shape(circuit, f)->initial_count)
            return false;
    return true;
}
