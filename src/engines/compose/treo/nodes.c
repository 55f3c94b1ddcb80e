/* Converts instances and nodes to a circuit: names, mergers, factors. */
#include "engines/compose/treo/treo_internal.h"

#include <stdio.h>
#include <string.h>

#define NAME_SIZE (GORDIAN_NAME_MAX + 1)

struct filling {
    struct treo *treo;
    uint32_t *by_depth;    /* the nodes, outermost first */
    uint32_t *name_of;     /* by node: its name in the circuit; NONE: it needs none */
    uint32_t *next_writer; /* by node: number of its writers so far */
    uint32_t *writer_name; /* names of the writers of nodes with several writers; the names for node
                              n begin at first[n] */
    size_t *first;
    uint32_t *names; /* of the current factor */
    size_t name_room;
};

/* x as it is, a[1] as a1, a[1][2] as a1_2. */
static void short_name(const char *name, char *text, size_t size)
{
    size_t used = 0;
    bool index = false;
    for (; *name && used + 1 < size; name++) {
        if (*name == ']')
            continue;
        if (*name != '[')
            text[used++] = *name;
        else if (index)
            text[used++] = '_';
        index |= *name == '[';
    }
    text[used] = '\0';
}

/* Prefixes the names of the enclosing instances, outermost first: chain_2.a1. False: too long. */
static bool put_path(const struct treo *treo, uint32_t instance, char *text, size_t size)
{
    char part[NAME_SIZE + 16];
    for (; treo->instances[instance].depth > 1; instance = treo->instances[instance].parent) {
        const struct instance *here = &treo->instances[instance];
        char ordinal[16] = "";
        if (here->ordinal > 1)
            snprintf(ordinal, sizeof ordinal, "_%u", here->ordinal);
        size_t length = strlen(text);
        size_t added = (size_t)snprintf(part, sizeof part, "%s%s.", here->name, ordinal);
        if (added >= sizeof part || length + added >= size)
            return false;
        memmove(text + added, text, length + 1);
        memcpy(text, part, added);
    }
    return true;
}

static bool is_taken(const struct treo *treo, const char *text)
{
    return names_find(&treo->circuit->names, text, strlen(text)) != GORDIAN_NONE;
}

/* Chooses a unique name: the plain one, or with the path, or with a number. */
static void choose_name(const struct treo *treo, uint32_t number, char *text)
{
    const struct node *node = &treo->nodes[number];
    char plain[NAME_SIZE];
    short_name(node->name, plain, sizeof plain - 20);
    memcpy(text, plain, strlen(plain) + 1);
    if (!is_taken(treo, text) ||
        (put_path(treo, node->instance, text, NAME_SIZE) && !is_taken(treo, text)))
        return;
    do
        snprintf(text, NAME_SIZE, "%.*s~%u", (int)(sizeof plain - 20), plain, number++);
    while (is_taken(treo, text));
}

static uint32_t depth_of(const struct treo *treo, size_t node)
{
    return treo->instances[treo->nodes[node].instance].depth;
}

/* The outermost nodes are named first, so that they get the plain names. */
static gordian_status sort_by_depth(struct filling *filling)
{
    struct treo *treo = filling->treo;
    size_t *next = memory_zeroed(&treo->memory, (TREO_DEPTH_MAX + 3) * sizeof *next);
    filling->by_depth = memory_alloc(&treo->memory, treo->node_count * sizeof(uint32_t));
    if (!next || !filling->by_depth) {
        memory_free(&treo->memory, next);
        return fail_memory(treo->error);
    }
    for (size_t n = 0; n < treo->node_count; n++)
        next[depth_of(treo, n) + 1]++;
    for (size_t d = 1; d <= TREO_DEPTH_MAX + 1; d++)
        next[d] += next[d - 1];
    for (size_t n = 0; n < treo->node_count; n++)
        filling->by_depth[next[depth_of(treo, n)]++] = (uint32_t)n;
    memory_free(&treo->memory, next);
    return GORDIAN_OK;
}

static gordian_status name_nodes(struct filling *filling)
{
    struct treo *treo = filling->treo;
    char text[NAME_SIZE];
    for (size_t i = 0; i < treo->node_count; i++) {
        uint32_t n = filling->by_depth[i];
        struct node *node = &treo->nodes[n];
        filling->name_of[n] = GORDIAN_NONE;
        if (!node->boundary && node->writers + node->readers == 0)
            continue;
        choose_name(treo, n, text);
        TRY(circuit_name(treo->circuit, text, strlen(text), &filling->name_of[n], treo->error));
        if (!node->boundary)
            continue;
        uint8_t direction = node->direction;
        if (direction == PORT_UNKNOWN)
            direction = node->writers == 0 ? PORT_IN : node->readers == 0 ? PORT_OUT : PORT_MIXED;
        circuit_boundary(treo->circuit, filling->name_of[n], (enum port_direction)direction);
    }
    return GORDIAN_OK;
}

/* c.1, c.2, ...: the name that one of several writers writes to. */
static gordian_status writer_name(struct filling *filling, uint32_t node, uint32_t writer,
                                  uint32_t *name)
{
    gordian_circuit *circuit = filling->treo->circuit;
    char text[NAME_SIZE + 16];
    snprintf(text, sizeof text, "%s.%u", names_text(&circuit->names, filling->name_of[node]),
             writer);
    while (names_find(&circuit->names, text, strlen(text)) != GORDIAN_NONE &&
           strlen(text) < NAME_SIZE)
        strcat(text, "'");
    return circuit_name(circuit, text, strlen(text), name, filling->treo->error);
}

static gordian_status add_factor(struct filling *filling, const struct atom_instance *atom)
{
    struct treo *treo = filling->treo;
    gordian_circuit *circuit = treo->circuit;
    size_t ports = circuit->automata[atom->automaton]->port_count;
    if (!memory_grow(&treo->memory, &filling->names, &filling->name_room, ports,
                     sizeof *filling->names))
        return fail_memory(treo->error);
    for (size_t p = 0; p < ports; p++) {
        const struct end *end = &treo->ends[atom->first_end + p];
        filling->names[p] = filling->name_of[end->node];
        if (end->direction == PORT_OUT && treo->nodes[end->node].writers > 1) {
            uint32_t writer = filling->next_writer[end->node]++;
            TRY(writer_name(filling, end->node, writer + 1, &filling->names[p]));
            filling->writer_name[filling->first[end->node] + writer] = filling->names[p];
        }
    }
    return circuit_factor(circuit, atom->automaton, filling->names, atom->title, treo->error);
}

/* The automaton of a merger, shared by all with the same number of writers. */
static gordian_status merger_automaton(struct treo *treo, uint32_t writers, uint32_t *number)
{
    char key[40];
    struct automaton *automaton;
    const struct primitive *merger = primitive_find("merger", 6);
    snprintf(key, sizeof key, "node %u", writers);
    *number = treo_made(treo, key);
    if (*number != GORDIAN_NONE)
        return GORDIAN_OK;
    TRY(primitive_build(&automaton, merger, writers, 1, 0, &treo->memory, treo->error));
    return treo_keep(treo, key, automaton, number);
}

/* A node with several writers takes from one of them at a time. */
static gordian_status add_merger(struct filling *filling, uint32_t node)
{
    struct treo *treo = filling->treo;
    uint32_t writers = treo->nodes[node].writers, automaton;
    TRY(merger_automaton(treo, writers, &automaton));
    if (!memory_extend(&treo->memory, filling->names, filling->name_room, writers))
        return fail_memory(treo->error);
    memcpy(filling->names, filling->writer_name + filling->first[node], writers * sizeof(uint32_t));
    filling->names[writers] = filling->name_of[node];
    return circuit_factor(treo->circuit, automaton, filling->names, "node", treo->error);
}

/* Allocates the names of all writers that share a node. */
static gordian_status count_writers(struct filling *filling)
{
    struct treo *treo = filling->treo;
    size_t nodes = treo->node_count, writers = 0;
    filling->name_of = memory_alloc(&treo->memory, nodes * sizeof(uint32_t));
    filling->next_writer = memory_zeroed(&treo->memory, nodes * sizeof(uint32_t));
    filling->first = memory_alloc(&treo->memory, nodes * sizeof(size_t));
    if (!filling->name_of || !filling->next_writer || !filling->first)
        return fail_memory(treo->error);
    for (size_t n = 0; n < nodes; n++) {
        filling->first[n] = writers;
        writers += treo->nodes[n].writers > 1 ? treo->nodes[n].writers : 0;
    }
    filling->writer_name = memory_alloc(&treo->memory, writers * sizeof(uint32_t));
    return filling->writer_name ? GORDIAN_OK : fail_memory(treo->error);
}

gordian_status treo_fill(struct treo *treo)
{
    struct filling filling = {.treo = treo};
    gordian_status status = count_writers(&filling);
    THEN(status, sort_by_depth(&filling));
    THEN(status, name_nodes(&filling));
    for (size_t a = 0; a < treo->atom_count && status == GORDIAN_OK; a++)
        status = add_factor(&filling, &treo->atoms[a]);
    for (uint32_t n = 0; n < treo->node_count && status == GORDIAN_OK; n++)
        if (treo->nodes[n].writers > 1)
            status = add_merger(&filling, n);
    memory_free_all(&treo->memory, filling.by_depth, filling.name_of, filling.next_writer,
                    filling.writer_name, filling.first, filling.names);
    return status;
}
