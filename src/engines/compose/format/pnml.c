/* Reads PNML files. Every element is supported, ignored by name, or rejected by name. Skipping an
 * unknown element could change the behaviour of the net. */
#include "engines/compose/format/pnml.h"

#include "engines/compose/format/net.h"
#include "engines/compose/format/xml.h"
#include "foundation/base/error.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_SIZE (GORDIAN_NAME_MAX + 1)

/* An arc before its ends are resolved; they may come later in the text. */
struct arc_ends {
    char *source, *target;
    const char *where;
};

/* The structural elements; every other element is a property of one of these. */
enum owner {
    OWNER_PNML = 1,
    OWNER_NET = 2,
    OWNER_PLACE = 4,
    OWNER_TRANSITION = 8,
    OWNER_ARC = 16,
    OWNER_ANY = 31,
};

enum meaning {
    MEANS_NOTHING,  /* for people or tools: ignored */
    MEANS_TOKENS,   /* number of tokens of the place */
    MEANS_WEIGHT,   /* number of tokens that the arc moves */
    MEANS_ARC_TYPE, /* only normal arcs are supported */
    MEANS_DEFAULT,  /* an extension: supported only with its default value */
};

static const struct property {
    const char *name;
    unsigned owners; /* enum owner */
    enum meaning meaning;
    const char *values[2]; /* MEANS_DEFAULT: the default values */
} properties[] = {
    {"name", OWNER_ANY, MEANS_NOTHING, {0}},
    {"graphics", OWNER_ANY, MEANS_NOTHING, {0}},
    {"toolspecific", OWNER_ANY, MEANS_NOTHING, {0}},
    {"initialMarking", OWNER_PLACE, MEANS_TOKENS, {0}},
    {"inscription", OWNER_ARC, MEANS_WEIGHT, {0}},
    {"type", OWNER_ARC, MEANS_ARC_TYPE, {0}},
    {"arctype", OWNER_ARC, MEANS_ARC_TYPE, {0}},
    /* of PIPE: */
    {"token", OWNER_NET, MEANS_NOTHING, {0}},
    {"labels", OWNER_NET, MEANS_NOTHING, {0}},
    {"arcpath", OWNER_ARC, MEANS_NOTHING, {0}},
    {"tagged", OWNER_ARC, MEANS_NOTHING, {0}},
    {"rate", OWNER_TRANSITION, MEANS_NOTHING, {0}},
    {"orientation", OWNER_TRANSITION, MEANS_NOTHING, {0}},
    {"rotation", OWNER_TRANSITION, MEANS_NOTHING, {0}},
    {"infiniteServer", OWNER_TRANSITION, MEANS_NOTHING, {0}},
    {"capacity", OWNER_PLACE, MEANS_DEFAULT, {"0"}},
    {"timed", OWNER_TRANSITION, MEANS_DEFAULT, {"false"}},
    {"priority", OWNER_TRANSITION, MEANS_DEFAULT, {"0", "1"}},
    /* of TAPAAL's games: */
    {"player", OWNER_TRANSITION, MEANS_DEFAULT, {"0"}},
};

/* Elements of coloured nets. */
static const char *const coloured[] = {
    "declaration", "structure", "hlinitialMarking", "hlinscription", "condition",
};

/* Attributes of TAPAAL's own format, which contain tokens and weights. */
static const struct {
    const char *element, *attribute;
    const char *value; /* the default; NULL: none */
} foreign[] = {
    {"place", "initialMarking", NULL}, {"place", "invariant", NULL},
    {"arc", "inscription", NULL},      {"arc", "weight", "1"},
    {"transition", "urgent", "false"}, {"transition", "player", "0"},
    {"transition", "priority", "0"},
};

struct pnml {
    struct net net;
    struct xml xml;
    struct arc_ends *ends;
    size_t end_count, end_room;
    bool seen; /* a net was read */

    enum owner owners[XML_DEPTH_MAX]; /* by depth - 1 of the enclosing elements */
    size_t skipped;                   /* depth of the skipped element; 0: none */
    const struct property *property;  /* the current property; NULL: none */
    size_t property_depth;
    char value[ID_SIZE]; /* its text so far */
    size_t value_length;
    const char *value_where;
    gordian_error *error;
};

static gordian_status pnml_complain(struct pnml *pnml, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static gordian_status pnml_complain(struct pnml *pnml, const char *where, const char *format, ...)
{
    char text[300];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    pnml->xml.place = where;
    return xml_complain(&pnml->xml, text);
}

/* ------------------------------------------------------------------ nodes and arcs */

static gordian_status add_net_node(struct pnml *pnml, struct label_table *table)
{
    char id[ID_SIZE];
    uint32_t number;
    struct net *net = &pnml->net;
    if (!xml_attribute(&pnml->xml, "id", id, sizeof id))
        return xml_complain(&pnml->xml, "this element has no id, or an id of more than 255 bytes");
    /* Rejects characters that a name of a circuit in backquotes cannot have. */
    const char *why;
    if (!names_valid(id, strlen(id), &why) || id[strcspn(id, "|\"`")] || strcmp(id, "tau") == 0)
        return xml_complain(&pnml->xml, "this id contains a blank, a quote, '#', '=' or '|'");
    if (labels_find(&net->places, id, strlen(id)) != GORDIAN_NONE ||
        labels_find(&net->transitions, id, strlen(id)) != GORDIAN_NONE)
        return xml_complain(&pnml->xml, "this id is used twice");
    return labels_put(table, id, strlen(id), &number, pnml->error);
}

/* "normal" in any case, or nothing. */
static gordian_status check_arc_type(struct pnml *pnml, const char *where, const char *type)
{
    bool normal = !*type;
    static const char *const names[] = {"normal", "Normal", "NORMAL"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        normal |= strcmp(type, names[i]) == 0;
    return normal ? GORDIAN_OK
                  : pnml_complain(pnml, where, "an arc of type '%.80s': only normal arcs are read",
                                  type);
}

static gordian_status add_arc(struct pnml *pnml)
{
    char source[ID_SIZE], target[ID_SIZE], type[ID_SIZE] = "";
    const struct xml *xml = &pnml->xml;
    if (!xml_attribute(xml, "source", source, sizeof source) ||
        !xml_attribute(xml, "target", target, sizeof target))
        return xml_complain(xml, "an arc needs a source and a target");
    if (xml_has(xml, "type") && !xml_attribute(xml, "type", type, sizeof type))
        return xml_complain(xml, "this arc has a type that cannot be read");
    TRY(check_arc_type(pnml, xml->place, type));
    if (!memory_extend(&pnml->net.memory, pnml->ends, pnml->end_room, pnml->end_count))
        return fail_memory(pnml->error);
    struct arc_ends ends = {memory_copy_text(&pnml->net.memory, source),
                            memory_copy_text(&pnml->net.memory, target), xml->place};
    pnml->ends[pnml->end_count++] = ends;
    return ends.source && ends.target ? GORDIAN_OK : fail_memory(pnml->error);
}

static gordian_status begin_net(struct pnml *pnml)
{
    static const char *const others[] = {"symmetric", "highlevel", "hlpn", "hlnet",
                                         "coloured",  "colored",   "timed"};
    const struct xml *xml = &pnml->xml;
    char type[ID_SIZE] = "";
    if (pnml->seen)
        return xml_complain(xml, "a second net: only one net per file is supported");
    pnml->seen = true;
    if (!xml_attribute(xml, "id", pnml->net.title, sizeof pnml->net.title))
        strcpy(pnml->net.title, "net");
    if (xml_has(xml, "type") && !xml_attribute(xml, "type", type, sizeof type))
        return xml_complain(xml, "this net has a type that cannot be read");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(type, others[i]))
            return pnml_complain(
                pnml, pnml->xml.place,
                "a coloured or timed net (type '%.120s'): only place/transition nets are read",
                type);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ properties */

/* A number, or as PIPE writes it, with a name: "Default,1". */
static bool token_number(const char *text, uint64_t *number)
{
    const char *why, *comma = strchr(text, ',');
    if (comma && strchr(comma + 1, ','))
        return false; /* tokens of several kinds */
    text = comma ? comma + 1 : text;
    return parse_u64(text, strlen(text), number, &why);
}

static gordian_status end_tokens(struct pnml *pnml)
{
    uint64_t number = 0;
    if (pnml->value_length > 0 && !token_number(pnml->value, &number))
        return pnml_complain(pnml, pnml->value_where, "'%.80s' is not a number of tokens",
                             pnml->value);
    if (number > 1)
        return pnml_complain(pnml, pnml->value_where,
                             "a place begins with %.30s tokens: only nets with 0 or 1 tokens in a "
                             "place are read",
                             pnml->value);
    pnml->net.marked[pnml->net.places.count - 1] = (uint8_t)number;
    return GORDIAN_OK;
}

static gordian_status end_weight(struct pnml *pnml)
{
    uint64_t number = 1;
    if (pnml->value_length > 0 && !token_number(pnml->value, &number))
        return pnml_complain(pnml, pnml->value_where, "'%.80s' is not an arc weight", pnml->value);
    if (number != 1)
        return pnml_complain(pnml, pnml->value_where,
                             "an arc of weight %.30s: only arcs that move one token are read",
                             pnml->value);
    return GORDIAN_OK;
}

/* An extension that changes the behaviour of the net unless it has its default value. */
static gordian_status end_default(struct pnml *pnml)
{
    const struct property *property = pnml->property;
    bool known = pnml->value_length == 0;
    for (size_t i = 0; i < 2 && property->values[i]; i++)
        known |= strcmp(pnml->value, property->values[i]) == 0;
    if (known)
        return GORDIAN_OK;
    return pnml_complain(pnml, pnml->value_where,
                         "<%.80s> is only supported with its default value", property->name);
}

static gordian_status end_property(struct pnml *pnml)
{
    switch (pnml->property->meaning) {
    case MEANS_TOKENS:
        return end_tokens(pnml);
    case MEANS_WEIGHT:
        return end_weight(pnml);
    case MEANS_ARC_TYPE:
        return check_arc_type(pnml, pnml->value_where, pnml->value);
    case MEANS_DEFAULT:
        return end_default(pnml);
    case MEANS_NOTHING:
        break;
    }
    return GORDIAN_OK;
}

/* Appends a piece of the text of a property; comments and CDATA may split it. */
static gordian_status collect_text(struct pnml *pnml)
{
    char *to = pnml->value + pnml->value_length;
    if (!pnml->property)
        return GORDIAN_OK;
    if (!xml_text(&pnml->xml, to, sizeof pnml->value - pnml->value_length))
        return pnml_complain(pnml, pnml->xml.place,
                             "this text of <%.80s> is too long, or has an unknown entity",
                             pnml->property->name);
    if (*to && pnml->value_length == 0)
        pnml->value_where = pnml->xml.place;
    pnml->value_length += strlen(to);
    return GORDIAN_OK;
}

static gordian_status begin_property(struct pnml *pnml, const struct property *property)
{
    if (property->meaning == MEANS_NOTHING) {
        pnml->skipped = pnml->xml.depth;
        return GORDIAN_OK;
    }
    pnml->property = property;
    pnml->property_depth = pnml->xml.depth;
    pnml->value_where = pnml->xml.place;
    pnml->value[0] = '\0';
    pnml->value_length = 0;
    /* <type value="inhibitor"/> */
    if (xml_has(&pnml->xml, "value") &&
        !xml_attribute(&pnml->xml, "value", pnml->value, sizeof pnml->value))
        return pnml_complain(pnml, pnml->xml.place, "this value of <%.80s> cannot be read",
                             property->name);
    pnml->value_length = strlen(pnml->value);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ elements */

static gordian_status refuse_element(struct pnml *pnml)
{
    char name[81];
    struct xml_slice slice = pnml->xml.name;
    snprintf(name, sizeof name, "%.*s", (int)(slice.length < 80 ? slice.length : 80), slice.text);
    for (size_t i = 0; i < sizeof coloured / sizeof *coloured; i++)
        if (strcmp(name, coloured[i]) == 0)
            return pnml_complain(
                pnml, pnml->xml.place,
                "<%s> belongs to a coloured net: only place/transition nets are read", name);
    if (strcmp(name, "type") == 0) /* of a place, or of tokens */
        return xml_complain(
            &pnml->xml, "<type> belongs to a coloured net: only place/transition nets are read");
    if (strcmp(name, "referencePlace") == 0 || strcmp(name, "referenceTransition") == 0)
        return pnml_complain(pnml, pnml->xml.place, "<%s>: references between pages are not read",
                             name);
    return pnml_complain(pnml, pnml->xml.place,
                         "<%s> is unknown: it may change the behaviour of the net", name);
}

static gordian_status check_attributes(struct pnml *pnml)
{
    const struct xml *xml = &pnml->xml;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        char value[ID_SIZE];
        if (!xml_is(xml, foreign[i].element) || !xml_has(xml, foreign[i].attribute))
            continue;
        if (foreign[i].value && xml_attribute(xml, foreign[i].attribute, value, sizeof value) &&
            strcmp(value, foreign[i].value) == 0)
            continue;
        return pnml_complain(pnml, pnml->xml.place,
                             "the attribute '%.80s' is of TAPAAL's own format, which is not read: "
                             "export the net as PNML of ISO 15909-2",
                             foreign[i].attribute);
    }
    return GORDIAN_OK;
}

/* The kind of an element directly within `within`; 0: a property, or unknown. */
static enum owner element_owner(const struct xml *xml, enum owner within)
{
    static const struct {
        const char *name;
        enum owner within, owner;
    } owners[] = {
        {"net", OWNER_PNML, OWNER_NET},    {"page", OWNER_NET, OWNER_NET},
        {"place", OWNER_NET, OWNER_PLACE}, {"transition", OWNER_NET, OWNER_TRANSITION},
        {"arc", OWNER_NET, OWNER_ARC},
    };
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++)
        if (owners[i].within == within && xml_is(xml, owners[i].name))
            return owners[i].owner;
    return 0;
}

static gordian_status open_element(struct pnml *pnml)
{
    const struct xml *xml = &pnml->xml;
    if (pnml->skipped)
        return GORDIAN_OK;
    if (pnml->property) {
        /* Inside a property: <text>, <value> or <type value="..."> at any depth. */
        if (xml_is(&pnml->xml, "graphics") || xml_is(&pnml->xml, "toolspecific"))
            pnml->skipped = pnml->xml.depth;
        else if (xml_is(&pnml->xml, "structure"))
            return refuse_element(pnml);
        return GORDIAN_OK;
    }
    if (xml->depth == 1) {
        pnml->owners[0] = OWNER_PNML;
        return xml_is(xml, "pnml") ? GORDIAN_OK : xml_complain(xml, "the file has no net");
    }
    enum owner within = pnml->owners[xml->depth - 2], owner = element_owner(xml, within);
    if (owner == OWNER_NET && within == OWNER_PNML)
        TRY(begin_net(pnml));
    if (owner) {
        pnml->owners[pnml->xml.depth - 1] = owner;
        TRY(check_attributes(pnml));
        if (owner == OWNER_PLACE) {
            struct net *net = &pnml->net;
            TRY(add_net_node(pnml, &net->places));
            if (!memory_grow_zeroed(&net->memory, &net->marked, &net->marked_room,
                                    net->places.count, 1))
                return fail_memory(pnml->error);
            net->marked[net->places.count - 1] = 0;
            return GORDIAN_OK;
        }
        if (owner == OWNER_TRANSITION)
            return add_net_node(pnml, &pnml->net.transitions);
        return owner == OWNER_ARC ? add_arc(pnml) : GORDIAN_OK;
    }
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (properties[i].owners & within && xml_is(xml, properties[i].name))
            return begin_property(pnml, &properties[i]);
    return refuse_element(pnml);
}

static gordian_status close_element(struct pnml *pnml)
{
    size_t closed = pnml->xml.depth + 1;
    if (pnml->skipped == closed)
        pnml->skipped = 0;
    if (pnml->property && pnml->property_depth == closed) {
        TRY(end_property(pnml));
        pnml->property = NULL;
    }
    return GORDIAN_OK;
}

static gordian_status read_elements(struct pnml *pnml)
{
    for (enum xml_event event = XML_TEXT; event != XML_END;) {
        TRY(xml_next(&pnml->xml, &event));
        if (event == XML_OPEN)
            TRY(open_element(pnml));
        else if (event == XML_CLOSE)
            TRY(close_element(pnml));
        else if (event == XML_TEXT && !pnml->skipped)
            TRY(collect_text(pnml));
    }
    if (!pnml->seen)
        return xml_complain(&pnml->xml, "the file has no net");
    if (pnml->net.transitions.count == 0)
        return xml_complain(&pnml->xml, "the net has no transition");
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ arcs */

static int compare_arcs(const void *left, const void *right)
{
    const struct net_arc *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return (a->transition > b->transition) - (a->transition < b->transition);
}

static gordian_status resolve_arc(struct pnml *pnml, const struct arc_ends *ends,
                                  struct net_arc *arc)
{
    const struct net *net = &pnml->net;
    uint32_t from_place = labels_find(&net->places, ends->source, strlen(ends->source));
    uint32_t to_place = labels_find(&net->places, ends->target, strlen(ends->target));
    const char *other = from_place != GORDIAN_NONE ? ends->target : ends->source;
    *arc = (struct net_arc){
        .place = from_place != GORDIAN_NONE ? from_place : to_place,
        .transition = labels_find(&net->transitions, other, strlen(other)),
        .takes = from_place != GORDIAN_NONE,
        .puts = from_place == GORDIAN_NONE,
        .where = ends->where,
    };
    if (arc->place != GORDIAN_NONE && arc->transition != GORDIAN_NONE)
        return GORDIAN_OK;
    pnml->xml.place = ends->where;
    return xml_complain(
        &pnml->xml,
        "an arc must lead from a place to a transition, or from a transition to a place");
}

/* Merges the two arcs of a place and a transition. Two in the same direction would move two
 * tokens. */
static gordian_status join_arcs(struct pnml *pnml, struct net_arc *into, const struct net_arc *arc)
{
    if ((into->takes && arc->takes) || (into->puts && arc->puts)) {
        pnml->xml.place = into->where > arc->where ? into->where : arc->where;
        return xml_complain(&pnml->xml, "a second arc between the same two nodes: together they "
                                        "move two tokens, and only arcs that move one are read");
    }
    into->takes |= arc->takes;
    into->puts |= arc->puts;
    return GORDIAN_OK;
}

static gordian_status resolve_arcs(struct pnml *pnml)
{
    struct net *net = &pnml->net;
    net->arcs = memory_alloc(&net->memory, (pnml->end_count + 1) * sizeof *net->arcs);
    if (!net->arcs)
        return fail_memory(pnml->error);
    for (size_t i = 0; i < pnml->end_count; i++)
        TRY(resolve_arc(pnml, &pnml->ends[i], &net->arcs[i]));
    if (pnml->end_count > 0)
        qsort(net->arcs, pnml->end_count, sizeof *net->arcs, compare_arcs);
    for (size_t i = 0; i < pnml->end_count; i++) {
        struct net_arc *last = net->arc_count ? &net->arcs[net->arc_count - 1] : NULL;
        if (last && compare_arcs(last, &net->arcs[i]) == 0)
            TRY(join_arcs(pnml, last, &net->arcs[i]));
        else
            net->arcs[net->arc_count++] = net->arcs[i];
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ entry points */

gordian_status pnml_read(gordian_circuit **out, const struct text *text,
                         const gordian_circuit_options *options, gordian_fault *fault,
                         gordian_error *error)
{
    gordian_error ignored = {0};
    struct pnml pnml = {.error = error ? error : &ignored};
    struct net *net = &pnml.net;
    *out = NULL;
    if (fault)
        *fault = (gordian_fault){0};
    net->memory = memory_allocator(options ? options->allocator : NULL);
    net->places.memory = net->transitions.memory = net->memory;
    xml_open(&pnml.xml, text, fault, pnml.error);
    gordian_status status = read_elements(&pnml);
    THEN(status, resolve_arcs(&pnml));
    THEN(status, net_circuit(out, net, options, pnml.error));
    for (size_t i = 0; i < pnml.end_count; i++)
        memory_free_all(&net->memory, pnml.ends[i].source, pnml.ends[i].target);
    memory_free(&net->memory, pnml.ends);
    net_free(net);
    return status;
}
