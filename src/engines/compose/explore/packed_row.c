/* A row of the product: its transitions sorted as sinks want them. */
#include "engines/compose/explore/packed.h"

#include "foundation/base/error.h"
#include "foundation/base/sort.h"

#include <string.h>

gordian_status packed_row_open(struct packed_row *row, const struct packed *packed,
                               gordian_error *error)
{
    *row = (struct packed_row){.packed = packed};
    row->locals =
        memory_alloc(&packed->memory, (packed->circuit->factor_count + 1) * sizeof *row->locals);
    return row->locals ? GORDIAN_OK : fail_memory(error);
}

static void free_arrays(struct packed_row *row)
{
    const gordian_allocator *memory = &row->packed->memory;
    memory_free_all(memory, row->labels, row->to, row->raw_labels, row->raw_to, row->order);
    *row = (struct packed_row){.packed = row->packed, .locals = row->locals};
}

void packed_row_free(struct packed_row *row)
{
    if (!row->packed)
        return;
    free_arrays(row);
    memory_free(&row->packed->memory, row->locals);
    row->locals = NULL;
}

gordian_status packed_row_reserve(struct packed_row *row, size_t count, gordian_error *error)
{
    const gordian_allocator *memory = &row->packed->memory;
    size_t words = row->packed->circuit->label_words, room = count + count / 2 + 16;
    row->count = count;
    if (count <= row->room)
        return GORDIAN_OK;
    if (count >= UINT32_MAX)
        return fail(error, GORDIAN_STATUS_MEMORY, "a state with %zu transitions", count);
    free_arrays(row);
    row->labels = memory_alloc(memory, room * words * sizeof *row->labels);
    row->to = memory_alloc(memory, room * sizeof *row->to);
    row->raw_labels = memory_alloc(memory, room * words * sizeof *row->labels);
    row->raw_to = memory_alloc(memory, room * sizeof *row->to);
    row->order = memory_alloc(memory, room * sizeof *row->order);
    if (!row->labels || !row->to || !row->raw_labels || !row->raw_to || !row->order) {
        free_arrays(row);
        return fail_memory(error);
    }
    row->room = room;
    row->count = count;
    return GORDIAN_OK;
}

static int compare_transitions(const void *left, const void *right, void *context)
{
    const struct packed_row *row = context;
    const gordian_circuit *circuit = row->packed->circuit;
    uint32_t i = *(const uint32_t *)left, k = *(const uint32_t *)right;
    size_t words = circuit->label_words;
    int order = label_compare(row->raw_labels + i * words, row->raw_labels + k * words, words,
                              circuit->name_count, circuit->value_bits);
    return order ? order : (row->raw_to[i] > row->raw_to[k]) - (row->raw_to[i] < row->raw_to[k]);
}

gordian_status packed_row_deliver(struct packed_row *row, const gordian_compose_sink *sink,
                                  uint64_t state, uint64_t number, gordian_error *error)
{
    size_t words = row->packed->circuit->label_words;
    for (size_t i = 0; i < row->count; i++)
        row->order[i] = (uint32_t)i;
    sort_with(row->order, row->count, sizeof *row->order, compare_transitions, row);
    for (size_t i = 0; i < row->count; i++) {
        memcpy(row->labels + i * words, row->raw_labels + row->order[i] * words,
               words * sizeof *row->labels);
        row->to[i] = row->raw_to[row->order[i]];
    }
    unpack_state(&row->packed->packing, &state, row->locals);
    gordian_compose_row out = {.number = number,
                               .state = row->locals,
                               .initial = initial_is(row->packed->circuit, row->locals),
                               .count = row->count,
                               .labels = row->labels,
                               .to = row->to};
    return sink->row(sink->context, &out, error);
}
