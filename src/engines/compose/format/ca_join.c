/* Joins circuits through their text: the .ca text of a circuit describes it completely, and the
 * reader can already share names and merge data. */
#include "engines/compose/circuit/net_safety.h"
#include "engines/compose/format/ca.h"
#include "foundation/base/error.h"
#include "foundation/base/io/output.h"
#include "foundation/base/memory.h"

#include <stdio.h>
#include <string.h>

struct joining {
    const gordian_circuit *const *circuits;
    size_t count;
    gordian_allocator memory;
    gordian_error *error;
    struct output text;
};

/* ------------------------------------------------------------------ names */

static bool occurs_elsewhere(const struct joining *joining, size_t own, const char *name)
{
    for (size_t k = 0; k < joining->count; k++)
        if (k != own &&
            names_find(&joining->circuits[k]->names, name, strlen(name)) != GORDIAN_NONE)
            return true;
    return false;
}

/* Returns name@3, or with more @ if that is taken. NULL: out of memory, or too long. */
static char *fresh_name(const struct joining *joining, size_t own, const char *name)
{
    char fresh[GORDIAN_NAME_MAX + 1];
    const struct names *names = &joining->circuits[own]->names;
    size_t length = (size_t)snprintf(fresh, sizeof fresh, "%s@%zu", name, own + 1);
    while (length < sizeof fresh && (occurs_elsewhere(joining, own, fresh) ||
                                     names_find(names, fresh, length) != GORDIAN_NONE))
        length += (size_t)snprintf(fresh + length, sizeof fresh - length, "@");
    if (length >= sizeof fresh) {
        fail(
            joining->error, GORDIAN_STATUS_INPUT,
            "the internal name '%.100s' is in several files and too long to make unique: rename it",
            name);
        return NULL;
    }
    char *copy = memory_alloc(&joining->memory, length + 1);
    if (!copy) {
        fail_memory(joining->error);
        return NULL;
    }
    return memcpy(copy, fresh, length + 1);
}

static gordian_status rename_inside(struct joining *joining, size_t own, char **renamed)
{
    const gordian_circuit *circuit = joining->circuits[own];
    for (uint32_t n = 0; joining->circuits[own]->own_inside && n < circuit->name_count; n++) {
        const char *name = names_text(&circuit->names, n);
        if (circuit->boundary[n] || !occurs_elsewhere(joining, own, name))
            continue;
        renamed[n] = fresh_name(joining, own, name);
        if (!renamed[n])
            return joining->error->status;
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ the text */

static gordian_status write_joined(struct joining *joining)
{
    size_t functions = 0;
    /* Each datum of all circuits once. */
    output_text(&joining->text, "data");
    for (size_t k = 0; k < joining->count; k++) {
        const struct data *data = &joining->circuits[k]->data;
        for (uint32_t d = 0; d < data->port_size; d++) {
            const char *text = data_text(data, data->domain[d]);
            bool known = false;
            for (size_t before = 0; before < k; before++) {
                const struct data *other = &joining->circuits[before]->data;
                for (uint32_t o = 0; o < other->port_size; o++)
                    known |= strcmp(data_text(other, other->domain[o]), text) == 0;
            }
            if (known)
                continue;
            output_char(&joining->text, ' ');
            ca_write_datum(text, &joining->text);
        }
    }
    output_char(&joining->text, '\n');
    for (size_t k = 0; k < joining->count; k++) {
        const gordian_circuit *circuit = joining->circuits[k];
        char **renamed =
            memory_zeroed(&joining->memory, (circuit->name_count + 1) * sizeof *renamed);
        if (!renamed)
            return fail_memory(joining->error);
        gordian_status status = rename_inside(joining, k, renamed);
        THEN(status, ca_write_factors(circuit, renamed, functions, &joining->text, joining->error));
        uint32_t count = circuit->name_count;
        for (uint32_t n = 0; renamed && n < count; n++)
            memory_free(&joining->memory, renamed[n]);
        memory_free(&joining->memory, renamed);
        TRY(status);
        functions += joining->circuits[k]->data.function_count;
    }
    return joining->text.failure ? fail_memory(joining->error) : GORDIAN_OK;
}

/* ------------------------------------------------------------------ the circuit */

/* Finds the boundary ports: a name of one circuit only keeps its role. The reader cannot do this,
 * because it counts automata, and a port may belong to several. */
static void find_ports(const struct joining *joining, gordian_circuit *circuit)
{
    for (uint32_t n = 0; n < circuit->name_count; n++) {
        const char *name = names_text(&circuit->names, n);
        size_t having = 0;
        circuit->boundary[n] = 0;
        circuit->directions[n] = PORT_UNKNOWN;
        for (size_t k = 0; k < joining->count; k++) {
            const gordian_circuit *part = joining->circuits[k];
            uint32_t there = names_find(&part->names, name, strlen(name));
            if (there == GORDIAN_NONE)
                continue;
            circuit->boundary[n] = ++having == 1 && part->boundary[there];
            circuit->directions[n] = circuit->boundary[n] ? part->directions[there] : PORT_UNKNOWN;
        }
    }
}

gordian_status gordian_circuit_join(gordian_circuit **out, const gordian_circuit *const *circuits,
                                    size_t count, const char *data,
                                    const gordian_allocator *allocator, gordian_error *error)
{
    gordian_error ignored = {0};
    struct joining joining = {.circuits = circuits,
                              .count = count,
                              .memory = memory_allocator(allocator),
                              .error = error ? error : &ignored};
    gordian_circuit_options options = {.data = data, .allocator = allocator};
    struct text text = {0};
    *out = NULL;
    if (!output_open(&joining.text, -1))
        return fail_memory(error);
    gordian_status status = write_joined(&joining);
    THEN(status, text_copy(&text, "the files together", joining.text.buffer, joining.text.used,
                           &joining.memory, joining.error));
    output_close(&joining.text);
    if (status != GORDIAN_OK)
        return status;
    status = ca_read(out, &text, &options, NULL, joining.error);
    text_free(&text);
    if (status == GORDIAN_OK) {
        find_ports(&joining, *out);
        if (count == 1)
            status = circuit_title(*out, circuits[0]->title, joining.error);
    }
    for (size_t k = 0, first = 0; k < count && status == GORDIAN_OK; k++) {
        (*out)->incomplete |= circuits[k]->incomplete;
        status = safety_inherit(*out, circuits[k], first, joining.error);
        first += circuits[k]->factor_count;
    }
    if (status != GORDIAN_OK) {
        gordian_circuit_close(*out);
        *out = NULL;
    }
    if (status != GORDIAN_OK && joining.error->line)
        /* The position is not in a text of the user. */
        joining.error->line = joining.error->column = 0;
    return status;
}
