/* Building and sealing a circuit. */
#include "engines/compose/circuit/circuit.h"

#include "engines/compose/circuit/net_safety.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <stdlib.h>
#include <string.h>

gordian_status circuit_new(gordian_circuit **out, const char *title,
                           const gordian_allocator *memory, gordian_error *error)
{
    *out = NULL;
    gordian_circuit *circuit = memory_zeroed(memory, sizeof *circuit);
    if (!circuit)
        return fail_memory(error);
    circuit->memory = *memory;
    circuit->max_unfolded = SHAPE_MAX;
    names_init(&circuit->names, memory);
    data_init(&circuit->data, memory);
    circuit->title = memory_copy_text(memory, title ? title : "");
    if (!circuit->title) {
        gordian_circuit_close(circuit);
        return fail_memory(error);
    }
    *out = circuit;
    return GORDIAN_OK;
}

gordian_status circuit_title(gordian_circuit *circuit, const char *title, gordian_error *error)
{
    char *copy = memory_copy_text(&circuit->memory, title);
    if (!copy)
        return fail_memory(error);
    memory_free(&circuit->memory, circuit->title);
    circuit->title = copy;
    return GORDIAN_OK;
}

gordian_status circuit_note(gordian_circuit *circuit, const char *line, gordian_error *error)
{
    size_t had = circuit->notes ? strlen(circuit->notes) : 0, length = strlen(line);
    const char *known = circuit->notes ? strstr(circuit->notes, line) : NULL;
    if (known && known[length] == '\n')
        return GORDIAN_OK;
    char *notes = memory_alloc(&circuit->memory, had + length + 2);
    if (!notes)
        return fail_memory(error);
    if (had)
        memcpy(notes, circuit->notes, had);
    memcpy(notes + had, line, length);
    memcpy(notes + had + length, "\n", 2);
    memory_free(&circuit->memory, circuit->notes);
    circuit->notes = notes;
    return GORDIAN_OK;
}

void gordian_circuit_close(gordian_circuit *circuit)
{
    if (!circuit)
        return;
    gordian_allocator memory = circuit->memory;
    for (size_t i = 0; i < circuit->automaton_count; i++)
        automaton_free(circuit->automata[i]);
    for (size_t i = 0; i < circuit->shape_count; i++)
        shape_free(&circuit->shapes[i], &memory);
    for (size_t i = 0; i < circuit->factor_count; i++)
        memory_free_all(&memory, circuit->factors[i].names, circuit->factors[i].title);
    for (size_t i = 0; i < circuit->safety_count; i++)
        safety_free(circuit->safeties[i]);
    memory_free_all(&memory, circuit->safeties, circuit->automata, circuit->shapes,
                    circuit->factors, circuit->directions, circuit->boundary, circuit->users_first,
                    circuit->users, circuit->title, circuit->notes);
    names_free(&circuit->names);
    data_free(&circuit->data);
    memory_free(&memory, circuit);
}

gordian_status circuit_name(gordian_circuit *circuit, const char *text, size_t length,
                            uint32_t *name, gordian_error *error)
{
    const char *why;
    uint32_t found = names_find(&circuit->names, text, length);
    if (found != GORDIAN_NONE) {
        *name = found;
        return GORDIAN_OK;
    }
    int shown = (int)(length > 60 ? 60 : length);
    if (!names_valid(text, length, &why))
        return fail(error, GORDIAN_STATUS_INPUT, "'%.*s': %s", shown, text, why);
    for (size_t i = 0; i < length; i++)
        if (text[i] == '|' || text[i] == '"' || (unsigned char)text[i] < ' ')
            return fail(error, GORDIAN_STATUS_INPUT,
                        "the name '%.*s' has a '|', a quote or a control character", shown, text);
    if (length == 3 && memcmp(text, "tau", 3) == 0)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "'tau' is reserved for the hidden step: use another name");
    uint32_t fresh = circuit->name_count;
    if (fresh == GORDIAN_NONE - 1 ||
        !memory_grow_zeroed(&circuit->memory, &circuit->directions, &circuit->direction_room,
                            (size_t)fresh + 1, 1) ||
        !memory_grow_zeroed(&circuit->memory, &circuit->boundary, &circuit->boundary_room,
                            (size_t)fresh + 1, 1) ||
        !names_put(&circuit->names, fresh, text, length))
        return fail_memory(error);
    circuit->name_count++;
    *name = fresh;
    return GORDIAN_OK;
}

void circuit_boundary(gordian_circuit *circuit, uint32_t name, enum port_direction direction)
{
    circuit->directions[name] = (uint8_t)direction;
    circuit->boundary[name] = 1;
}

gordian_status circuit_automaton(gordian_circuit *circuit, struct automaton *automaton,
                                 uint32_t *number, gordian_error *error)
{
    if (!memory_extend(&circuit->memory, circuit->automata, circuit->automaton_room,
                       circuit->automaton_count))
        return fail_memory(error);
    *number = (uint32_t)circuit->automaton_count;
    circuit->automata[circuit->automaton_count++] = automaton;
    return GORDIAN_OK;
}

gordian_status circuit_factor(gordian_circuit *circuit, uint32_t number, const uint32_t *names,
                              const char *title, gordian_error *error)
{
    size_t ports = circuit->automata[number]->port_count;
    if (circuit->factor_count >= GORDIAN_NONE ||
        !memory_extend(&circuit->memory, circuit->factors, circuit->factor_room,
                       circuit->factor_count))
        return fail_memory(error);
    struct factor factor = {.shape = number};
    factor.names = memory_alloc(&circuit->memory, ports * sizeof *factor.names);
    if (title)
        factor.title = memory_copy_text(&circuit->memory, title);
    if (!factor.names || (title && !factor.title)) {
        memory_free_all(&circuit->memory, factor.names, factor.title);
        return fail_memory(error);
    }
    if (ports > 0)
        memcpy(factor.names, names, ports * sizeof *names);
    circuit->factors[circuit->factor_count++] = factor;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ closure: names */

struct named {
    const char *text;
    uint32_t name;
};

static int compare_named(const void *left, const void *right)
{
    return strcmp(((const struct named *)left)->text, ((const struct named *)right)->text);
}

/* Renumbers the names; new_of[old] is the new number. `sorted` points into the old table. */
static gordian_status renumber_names(gordian_circuit *circuit, const struct named *sorted,
                                     uint32_t *new_of, gordian_error *error)
{
    struct names names;
    uint32_t count = circuit->name_count;
    uint8_t *directions = memory_alloc(&circuit->memory, count),
            *boundary = memory_alloc(&circuit->memory, count);
    names_init(&names, &circuit->memory);
    bool fine = directions && boundary;
    for (uint32_t i = 0; fine && i < count; i++) {
        new_of[sorted[i].name] = i;
        directions[i] = circuit->directions[sorted[i].name];
        boundary[i] = circuit->boundary[sorted[i].name];
        fine = names_put(&names, i, sorted[i].text, strlen(sorted[i].text));
    }
    if (!fine) {
        memory_free_all(&circuit->memory, directions, boundary);
        names_free(&names);
        return fail_memory(error);
    }
    memory_free_all(&circuit->memory, circuit->directions, circuit->boundary);
    names_free(&circuit->names);
    circuit->names = names;
    circuit->directions = directions;
    circuit->boundary = boundary;
    circuit->direction_room = circuit->boundary_room = count;
    return GORDIAN_OK;
}

static gordian_status sort_names(gordian_circuit *circuit, gordian_error *error)
{
    uint32_t count = circuit->name_count;
    struct named *sorted = memory_alloc(&circuit->memory, count * sizeof *sorted);
    uint32_t *new_of = memory_alloc(&circuit->memory, count * sizeof *new_of);
    gordian_status status = sorted && new_of ? GORDIAN_OK : fail_memory(error);
    for (uint32_t i = 0; i < count && status == GORDIAN_OK; i++)
        sorted[i] = (struct named){names_text(&circuit->names, i), i};
    if (status == GORDIAN_OK && count > 0) {
        qsort(sorted, count, sizeof *sorted, compare_named);
        status = renumber_names(circuit, sorted, new_of, error);
    }
    for (size_t f = 0; f < circuit->factor_count && status == GORDIAN_OK; f++) {
        size_t ports = circuit->automata[circuit->factors[f].shape]->port_count;
        for (size_t p = 0; p < ports; p++)
            circuit->factors[f].names[p] = new_of[circuit->factors[f].names[p]];
    }
    memory_free_all(&circuit->memory, sorted, new_of);
    return status;
}

/* ------------------------------------------------------------------ closure: shapes */

/* Each automaton is unfolded once, and once more for every other set of ports that share a name. */
struct closing {
    gordian_circuit *circuit;
    uint32_t
        *shape_of;     /* by automaton, if all ports have different names; NONE: not unfolded yet */
    uint32_t **merges; /* by shape; NULL: all ports have different names */
    size_t merge_room;
    uint32_t *merge; /* of the current factor */
    size_t merge_size;
    /* by name: the port of the current factor with this name; NONE otherwise */
    uint32_t *first_port;
};

/* Fills closing->merge. Returns the number of different names of the factor. */
static uint32_t find_merge(struct closing *closing, const struct factor *factor, size_t ports)
{
    uint32_t different = 0;
    for (size_t p = 0; p < ports; p++) {
        uint32_t *port = &closing->first_port[factor->names[p]];
        if (*port == GORDIAN_NONE)
            *port = different++;
        closing->merge[p] = *port;
    }
    for (size_t p = 0; p < ports; p++)
        closing->first_port[factor->names[p]] = GORDIAN_NONE;
    return different;
}

/* Returns the shape of this automaton with these merged ports, or NONE. */
static uint32_t find_shape(const struct closing *closing, const struct automaton *automaton)
{
    for (size_t s = 0; s < closing->circuit->shape_count; s++)
        if (closing->merges[s] && closing->circuit->shapes[s].automaton == automaton &&
            memcmp(closing->merges[s], closing->merge, automaton->port_count * sizeof(uint32_t)) ==
                0)
            return (uint32_t)s;
    return GORDIAN_NONE;
}

static gordian_status make_shape(struct closing *closing, const struct automaton *automaton,
                                 bool merged, uint32_t ports, uint32_t *number,
                                 gordian_error *error)
{
    gordian_circuit *circuit = closing->circuit;
    uint32_t *merge = NULL;
    size_t size = automaton->port_count * sizeof *merge;
    if (!memory_extend(&circuit->memory, circuit->shapes, circuit->shape_room,
                       circuit->shape_count) ||
        !memory_extend(&circuit->memory, closing->merges, closing->merge_room,
                       circuit->shape_count))
        return fail_memory(error);
    if (merged) {
        merge = memory_alloc(&circuit->memory, size);
        if (!merge)
            return fail_memory(error);
        memcpy(merge, closing->merge, size);
    }
    gordian_status status =
        shape_unfold(&circuit->shapes[circuit->shape_count], automaton, &circuit->data, merge,
                     ports, circuit->max_unfolded, &circuit->memory, error);
    if (status != GORDIAN_OK) {
        memory_free(&circuit->memory, merge);
        return status;
    }
    closing->merges[circuit->shape_count] = merge;
    *number = (uint32_t)circuit->shape_count++;
    return GORDIAN_OK;
}

static gordian_status shape_factor(struct closing *closing, struct factor *factor,
                                   gordian_error *error)
{
    gordian_circuit *circuit = closing->circuit;
    uint32_t of = factor->shape;
    const struct automaton *automaton = circuit->automata[of];
    size_t ports = automaton->port_count;
    if (!memory_grow(&circuit->memory, &closing->merge, &closing->merge_size, ports,
                     sizeof *closing->merge))
        return fail_memory(error);
    uint32_t different = find_merge(closing, factor, ports);
    bool merged = different < ports;
    uint32_t number = merged ? find_shape(closing, automaton) : closing->shape_of[of];
    if (number == GORDIAN_NONE) {
        TRY(make_shape(closing, automaton, merged, different, &number, error));
        if (!merged)
            closing->shape_of[of] = number;
    }
    factor->shape = number;
    for (size_t p = 0; merged && p < ports;
         p++) /* merge[p] <= p, so no name is overwritten before it is read */
        factor->names[closing->merge[p]] = factor->names[p];
    return GORDIAN_OK;
}

static gordian_status make_shapes(gordian_circuit *circuit, gordian_error *error)
{
    struct closing closing = {.circuit = circuit};
    size_t automata = circuit->automaton_count;
    closing.shape_of = memory_alloc(&circuit->memory, automata * sizeof(uint32_t));
    closing.first_port = memory_alloc(&circuit->memory, circuit->name_count * sizeof(uint32_t));
    gordian_status status = GORDIAN_OK;
    if (closing.shape_of && closing.first_port) {
        memset(closing.shape_of, 0xff, automata * sizeof(uint32_t));
        memset(closing.first_port, 0xff, circuit->name_count * sizeof(uint32_t));
    } else {
        status = fail_memory(error);
    }
    size_t done = 0;
    for (; done < circuit->factor_count && status == GORDIAN_OK; done++)
        status = shape_factor(&closing, &circuit->factors[done], error);
    for (size_t s = 0; s < circuit->shape_count; s++)
        memory_free(&circuit->memory, closing.merges[s]);
    memory_free_all(&circuit->memory, closing.merges, closing.merge, closing.shape_of,
                    closing.first_port);
    return status;
}

/* ------------------------------------------------------------------ closure: other functions */

static gordian_status list_users(gordian_circuit *circuit, gordian_error *error)
{
    size_t names = circuit->name_count, uses = 0;
    for (uint32_t f = 0; f < circuit->factor_count; f++)
        uses += factor_shape(circuit, f)->port_count;
    circuit->users_first = memory_zeroed(&circuit->memory, (names + 2) * sizeof(size_t));
    circuit->users = memory_alloc(&circuit->memory, uses * sizeof(uint32_t));
    if (!circuit->users_first || !circuit->users)
        return fail_memory(error);
    size_t *next = circuit->users_first + 1; /* shifted by one: the counts become the starts */
    for (uint32_t f = 0; f < circuit->factor_count; f++)
        for (uint32_t p = 0; p < factor_shape(circuit, f)->port_count; p++)
            next[circuit->factors[f].names[p] + 1]++;
    for (size_t n = 1; n <= names; n++)
        next[n] += next[n - 1];
    for (uint32_t f = 0; f < circuit->factor_count; f++)
        for (uint32_t p = 0; p < factor_shape(circuit, f)->port_count; p++)
            circuit->users[next[circuit->factors[f].names[p]]++] = f;
    return GORDIAN_OK;
}

gordian_status circuit_seal(gordian_circuit *circuit, gordian_error *error)
{
    TRY(data_close(&circuit->data, error));
    TRY(sort_names(circuit, error));
    TRY(make_shapes(circuit, error));
    TRY(list_users(circuit, error));
    circuit->value_bits = data_value_bits(&circuit->data);
    size_t words = bits_words((size_t)circuit->name_count * (1 + circuit->value_bits));
    circuit->label_words = (uint32_t)(words ? words : 1);
    circuit->whole_fits = true;
    circuit->whole = 1;
    circuit->initial = 1;
    for (uint32_t f = 0; f < circuit->factor_count; f++) {
        const struct shape *shape = factor_shape(circuit, f);
        if (__builtin_mul_overflow(circuit->whole, (uint64_t)shape->state_count, &circuit->whole))
            circuit->whole_fits = false;
        if (circuit->initial == UINT64_MAX ||
            __builtin_mul_overflow(circuit->initial, (uint64_t)shape->initial_count,
                                   &circuit->initial))
            circuit->initial = UINT64_MAX;
    }
    if (!circuit->whole_fits)
        circuit->whole = UINT64_MAX;
    circuit->closed = true;
    return GORDIAN_OK;
}
