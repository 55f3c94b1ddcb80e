/* Reading PNML: the net as automata, told as a .ca text. */
#include "compose/format/pnml.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/output.h"
#include "compose/format/ca.h"
#include "compose/format/xml.h"

#include <stdlib.h>
#include <string.h>

#define ID_SIZE (GORDIAN_NAME_MAX + 1)

struct net_arc {
    uint32_t place, transition;
    bool takes, puts;
};

/* An arc as it was read: its ends may come later. */
struct net_end {
    char *source, *target;
    const char *where;
};

struct net {
    gordian_allocator memory;
    struct xml xml;
    char title[ID_SIZE];
    struct label_table places, transitions;
    uint8_t *marked; /* by place */
    size_t marked_room;
    struct net_end *ends;
    size_t end_count, end_room;
    struct net_arc *arcs;
    size_t arc_count;
    bool seen;
    gordian_error *error;
};

enum inside {
    IN_NOTHING,
    IN_PLACE,
    IN_TRANSITION,
    IN_ARC,
};

/* ------------------------------------------------------------------ elements */

/* What a name of a circuit, written in backquotes, cannot have. */
static bool is_good_id(const char *id)
{
    const char *why;
    return names_valid(id, strlen(id), &why) && !id[strcspn(id, "|\"`")] && strcmp(id, "tau") != 0;
}

static gordian_status add_node(struct net *net, struct label_table *table)
{
    char id[ID_SIZE];
    uint32_t number;
    if (!xml_attribute(&net->xml, "id", id, sizeof id))
        return xml_complain(&net->xml, "this has no id, or one of more than 255 bytes");
    if (!is_good_id(id))
        return xml_complain(&net->xml, "this id has a blank, a quote, '#', '=' or '|' in it");
    if (labels_find(&net->places, id, strlen(id)) != GORDIAN_NONE ||
        labels_find(&net->transitions, id, strlen(id)) != GORDIAN_NONE)
        return xml_complain(&net->xml, "this id is there twice");
    return labels_put(table, id, strlen(id), &number, net->error);
}

static gordian_status add_place(struct net *net)
{
    gordian_status status = add_node(net, &net->places);
    if (status == GORDIAN_OK &&
        !memory_grow_zeroed(&net->memory, &net->marked, &net->marked_room, net->places.count, 1))
        return fail_memory(net->error);
    if (status == GORDIAN_OK)
        net->marked[net->places.count - 1] = 0;
    return status;
}

static char *copy_id(const struct net *net, const char *id)
{
    size_t size = strlen(id) + 1;
    char *copy = memory_alloc(&net->memory, size);
    return copy ? memcpy(copy, id, size) : NULL;
}

static gordian_status add_arc(struct net *net)
{
    char source[ID_SIZE], target[ID_SIZE];
    if (!xml_attribute(&net->xml, "source", source, sizeof source) ||
        !xml_attribute(&net->xml, "target", target, sizeof target))
        return xml_complain(&net->xml, "an arc has a source and a target");
    if (!memory_grow(&net->memory, &net->ends, &net->end_room, net->end_count + 1,
                     sizeof *net->ends))
        return fail_memory(net->error);
    struct net_end end = {copy_id(net, source), copy_id(net, target), net->xml.place};
    net->ends[net->end_count++] = end;
    return end.source && end.target ? GORDIAN_OK : fail_memory(net->error);
}

static gordian_status open_element(struct net *net, enum inside *inside)
{
    const struct xml *xml = &net->xml;
    char type[ID_SIZE];
    if (xml_is(xml, "net")) {
        if (net->seen)
            return xml_complain(xml, "a second net: one at a time");
        net->seen = true;
        if (!xml_attribute(xml, "id", net->title, sizeof net->title))
            strcpy(net->title, "net");
        if (xml_attribute(xml, "type", type, sizeof type) && strstr(type, "symmetric"))
            return xml_complain(xml, "a coloured net: only place/transition nets are read");
    } else if (xml_is(xml, "referencePlace") || xml_is(xml, "referenceTransition")) {
        return xml_complain(xml, "references between pages are not read");
    } else if (net->seen && xml_is(xml, "place")) {
        *inside = IN_PLACE;
        return add_place(net);
    } else if (net->seen && xml_is(xml, "transition")) {
        *inside = IN_TRANSITION;
        return add_node(net, &net->transitions);
    } else if (net->seen && xml_is(xml, "arc")) {
        *inside = IN_ARC;
        return add_arc(net);
    }
    return GORDIAN_OK;
}

/* <initialMarking><text>1</text>, <inscription><text>1</text> */
static gordian_status read_number(struct net *net, enum inside inside, const char *around)
{
    char text[ID_SIZE];
    bool marking = inside == IN_PLACE && strcmp(around, "initialMarking") == 0;
    bool weight = inside == IN_ARC && strcmp(around, "inscription") == 0;
    if (!marking && !weight)
        return GORDIAN_OK;
    if (!xml_text(&net->xml, text, sizeof text))
        return xml_complain(&net->xml, "expected a number");
    if (!*text)
        return GORDIAN_OK;
    /* Tools write "Default,1", too. */
    const char *number = strrchr(text, ',') ? strrchr(text, ',') + 1 : text;
    bool one = strcmp(number, "1") == 0;
    if (!one && strcmp(number, "0") != 0)
        return xml_complain(&net->xml, marking ? "a place begins with 0 or 1 tokens here"
                                               : "an arc moves one token here: no other weights");
    if (weight && !one)
        return xml_complain(&net->xml, "an arc that moves no token");
    if (marking)
        net->marked[net->places.count - 1] = one;
    return GORDIAN_OK;
}

static gordian_status read_elements(struct net *net)
{
    enum inside inside = IN_NOTHING;
    enum xml_event event = XML_TEXT;
    char around[2][40] = {"", ""}; /* the elements around the text: <around[0]><around[1]> */
    gordian_status status = GORDIAN_OK;
    while (status == GORDIAN_OK) {
        status = xml_next(&net->xml, &event);
        if (status != GORDIAN_OK || event == XML_END)
            break;
        if (event == XML_OPEN) {
            size_t length = net->xml.name.length < 39 ? net->xml.name.length : 39;
            memcpy(around[0], around[1], sizeof around[0]);
            memcpy(around[1], net->xml.name.text, length);
            around[1][length] = '\0';
            status = open_element(net, &inside);
        } else if (event == XML_CLOSE) {
            around[0][0] = around[1][0] = '\0';
            if (xml_is(&net->xml, "place") || xml_is(&net->xml, "transition") ||
                xml_is(&net->xml, "arc"))
                inside = IN_NOTHING;
        } else if (strcmp(around[1], "text") == 0 || strcmp(around[1], "value") == 0) {
            status = read_number(net, inside, around[0]);
        }
    }
    if (status == GORDIAN_OK && !net->seen)
        return xml_complain(&net->xml, "there is no net in this");
    if (status == GORDIAN_OK && net->transitions.count == 0)
        return xml_complain(&net->xml, "the net has no transition");
    return status;
}

/* ------------------------------------------------------------------ arcs */

static int compare_arcs(const void *left, const void *right)
{
    const struct net_arc *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return (a->transition > b->transition) - (a->transition < b->transition);
}

static gordian_status resolve_arc(struct net *net, const struct net_end *end, struct net_arc *arc)
{
    uint32_t from_place = labels_find(&net->places, end->source, strlen(end->source));
    uint32_t to_place = labels_find(&net->places, end->target, strlen(end->target));
    const char *other = from_place != GORDIAN_NONE ? end->target : end->source;
    *arc = (struct net_arc){
        .place = from_place != GORDIAN_NONE ? from_place : to_place,
        .transition = labels_find(&net->transitions, other, strlen(other)),
        .takes = from_place != GORDIAN_NONE,
        .puts = from_place == GORDIAN_NONE,
    };
    if (arc->place != GORDIAN_NONE && arc->transition != GORDIAN_NONE)
        return GORDIAN_OK;
    net->xml.place = end->where;
    return xml_complain(&net->xml, "an arc leads from a place to a transition, or back");
}

/* Sorted, and those between the same two joined. */
static gordian_status resolve_arcs(struct net *net)
{
    net->arcs = memory_alloc(&net->memory, (net->end_count + 1) * sizeof *net->arcs);
    if (!net->arcs)
        return fail_memory(net->error);
    for (size_t i = 0; i < net->end_count; i++) {
        gordian_status status = resolve_arc(net, &net->ends[i], &net->arcs[i]);
        if (status != GORDIAN_OK)
            return status;
    }
    if (net->end_count > 0)
        qsort(net->arcs, net->end_count, sizeof *net->arcs, compare_arcs);
    for (size_t i = 0; i < net->end_count; i++) {
        struct net_arc *last = net->arc_count ? &net->arcs[net->arc_count - 1] : NULL;
        if (last && compare_arcs(last, &net->arcs[i]) == 0) {
            last->takes |= net->arcs[i].takes;
            last->puts |= net->arcs[i].puts;
        } else {
            net->arcs[net->arc_count++] = net->arcs[i];
        }
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ the circuit */

static void write_place(const struct net *net, size_t first, size_t end, struct output *out)
{
    uint32_t place = net->arcs[first].place;
    output_text(out, "automaton ");
    ca_write_title(labels_text(&net->places, place), out);
    for (size_t i = first; i < end; i++)
        output_format(out, "%s`%s`", i == first ? " (" : ", ",
                      labels_text(&net->transitions, net->arcs[i].transition));
    output_format(out, ") {\n    %s : initial\n", net->marked[place] ? "one" : "none");
    for (size_t i = first; i < end; i++)
        output_format(out, "    %s -> %s : {`%s`}\n", net->arcs[i].takes ? "one" : "none",
                      net->arcs[i].puts ? "one" : "none",
                      labels_text(&net->transitions, net->arcs[i].transition));
    output_text(out, "}\n");
}

/* A transition that no place is asked about fires whenever it likes. */
static gordian_status write_free(const struct net *net, struct output *out)
{
    uint8_t *bound = memory_zeroed(&net->memory, net->transitions.count + 1);
    if (!bound)
        return fail_memory(net->error);
    for (size_t i = 0; i < net->arc_count; i++)
        bound[net->arcs[i].transition] = 1;
    for (uint32_t t = 0; t < net->transitions.count; t++)
        if (!bound[t])
            output_format(out, "automaton free (`%s`) { one* -> one : {`%s`} }\n",
                          labels_text(&net->transitions, t), labels_text(&net->transitions, t));
    memory_free(&net->memory, bound);
    return GORDIAN_OK;
}

static gordian_status make_circuit(struct net *net, gordian_circuit **out,
                                   const gordian_circuit_options *options)
{
    struct output text;
    struct text made;
    if (!output_open(&text, OUTPUT_MEMORY))
        return fail_memory(net->error);
    for (size_t i = 0, end; i < net->arc_count; i = end) {
        for (end = i; end < net->arc_count && net->arcs[end].place == net->arcs[i].place;)
            end++;
        write_place(net, i, end, &text);
    }
    gordian_status status = write_free(net, &text);
    if (status == GORDIAN_OK && text.failure)
        status = fail_memory(net->error);
    if (status == GORDIAN_OK)
        status = text_copy(&made, net->title, text.buffer, text.used, &net->memory, net->error);
    output_close(&text);
    if (status != GORDIAN_OK)
        return status;
    status = ca_read(out, &made, options, NULL, net->error);
    text_free(&made);
    if (status == GORDIAN_OK)
        status = circuit_title(*out, net->title, net->error);
    return status;
}

gordian_status pnml_read(gordian_circuit **out, const struct text *text,
                         const gordian_circuit_options *options, gordian_fault *fault,
                         gordian_error *error)
{
    gordian_error ignored = {0};
    struct net net = {.error = error ? error : &ignored};
    *out = NULL;
    if (fault)
        *fault = (gordian_fault){0};
    net.memory = memory_allocator(options ? options->allocator : NULL);
    net.places.memory = net.transitions.memory = net.memory;
    xml_open(&net.xml, text, fault, net.error);
    gordian_status status = read_elements(&net);
    if (status == GORDIAN_OK)
        status = resolve_arcs(&net);
    if (status == GORDIAN_OK)
        status = make_circuit(&net, out, options);
    for (size_t i = 0; i < net.end_count; i++)
        memory_free_all(&net.memory, net.ends[i].source, net.ends[i].target);
    memory_free_all(&net.memory, net.ends, net.arcs, net.marked);
    labels_free(&net.places);
    labels_free(&net.transitions);
    return status;
}
