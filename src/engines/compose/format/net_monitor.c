/* The circuit that finds out whether a net puts a second token into a place (circuit/net_safety.h).
 */
#include "engines/compose/format/net.h"

#include "engines/compose/circuit/net_safety.h"
#include "engines/compose/format/ca.h"
#include "foundation/base/error.h"
#include "foundation/base/io/output.h"
#include "foundation/base/memory.h"

#include <string.h>

#define MONITORED 1024u /* transitions of one automaton of the monitor */
/* Up to here every automaton of the monitor has all alarms. Finding the firings takes the square of
 * its ports for each alarm, so more of them are put into groups. */
#define ALARMS_TOGETHER 256u
/* A net with more alarms is monitored only if no place has more names than PORTS_MOST: the search
 * for firings tries all transitions of two places with one another. */
#define ALARMS_ANYWAY 4096u
#define PORTS_MOST    1024u

struct monitoring {
    const struct net *net;
    struct safety *safety;
    uint8_t *safe;             /* by place */
    size_t *first_alarm;       /* by transition */
    size_t group_size, groups; /* of alarms; 0: the monitor has all alarms itself */
    struct output text;
};

static bool may_overflow(const struct monitoring *monitoring, const struct net_arc *arc)
{
    return arc->puts && !arc->takes && !monitoring->safe[arc->place];
}

/* Alarms sorted by transition. */
static bool list_alarms(struct monitoring *monitoring)
{
    const struct net *net = monitoring->net;
    struct safety *safety = monitoring->safety;
    size_t transitions = net->transitions.count, *first;
    first = memory_zeroed(&net->memory, (transitions + 2) * sizeof *first);
    monitoring->first_alarm = first;
    if (!first)
        return false;
    for (size_t i = 0; i < net->arc_count; i++)
        if (may_overflow(monitoring, &net->arcs[i])) {
            first[net->arcs[i].transition + 2]++;
            safety->alarm_count++;
        }
    safety->alarms =
        memory_alloc(&safety->memory, (safety->alarm_count + 1) * sizeof *safety->alarms);
    if (!safety->alarms)
        return false;
    for (size_t t = 2; t < transitions + 2; t++)
        first[t] += first[t - 1];
    for (size_t i = 0; i < net->arc_count; i++) {
        const struct net_arc *arc = &net->arcs[i];
        if (may_overflow(monitoring, arc))
            safety->alarms[first[arc->transition + 1]++] =
                (struct alarm){arc->transition, arc->place};
    }
    return true;
}

/* One '!' more than any transition begins with. */
static size_t count_marks(const struct net *net)
{
    size_t marks = 0;
    for (uint32_t t = 0; t < net->transitions.count; t++) {
        size_t here = strspn(labels_text(&net->transitions, t), "!");
        marks = here > marks ? here : marks;
    }
    return marks + 1;
}

static void write_mark(struct monitoring *monitoring, const char *before)
{
    output_text(&monitoring->text, before);
    for (size_t i = 0; i < monitoring->safety->marks; i++)
        output_char(&monitoring->text, '!');
}

/* Writes the alarms in which the place has a say: `before`, the name, `after` for each. */
static void write_alarms(struct monitoring *monitoring, const struct net_arc *arc,
                         const char *before, const char *after)
{
    const struct safety *safety = monitoring->safety;
    if (!arc->takes && monitoring->safe[arc->place])
        return;
    for (size_t k = monitoring->first_alarm[arc->transition];
         k < monitoring->first_alarm[arc->transition + 1]; k++) {
        if (!arc->takes && safety->alarms[k].place != arc->place)
            continue;
        write_mark(monitoring, before);
        output_format(&monitoring->text, "%zu%s", k, after);
    }
}

static void write_place(struct monitoring *monitoring, size_t first, size_t end)
{
    const struct net *net = monitoring->net;
    struct output *out = &monitoring->text;
    uint32_t place = net->arcs[first].place;
    output_text(out, "automaton ");
    ca_write_title(labels_text(&net->places, place), out);
    for (size_t i = first; i < end; i++) {
        output_format(out, "%s`%s`", i == first ? " (" : ", ",
                      labels_text(&net->transitions, net->arcs[i].transition));
        write_alarms(monitoring, &net->arcs[i], ", `", "`");
    }
    output_format(out, ") {\n    %s : initial\n", net->marked[place] ? "one" : "none");
    for (size_t i = first; i < end; i++) {
        output_format(out, "    %s -> %s : {`%s`}\n", net->arcs[i].takes ? "one" : "none",
                      net->arcs[i].puts ? "one" : "none",
                      labels_text(&net->transitions, net->arcs[i].transition));
        write_alarms(monitoring, &net->arcs[i], "    one -> one : {`", "`}\n");
    }
    output_text(out, "}\n");
}

/* The names that turn the monitor off: its alarms, or one for each group of alarms. */
static void write_off(struct monitoring *monitoring, const char *before, size_t number,
                      const char *after)
{
    write_mark(monitoring, before);
    output_format(&monitoring->text, "%s%zu%s", monitoring->groups ? "off" : "", number, after);
}

/* One of the automata that are the monitor: for the transitions from `first` to `last`. */
static void write_monitor(struct monitoring *monitoring, uint32_t first, uint32_t last)
{
    const struct net *net = monitoring->net;
    struct output *out = &monitoring->text;
    size_t offs = monitoring->groups ? monitoring->groups : monitoring->safety->alarm_count;
    write_mark(monitoring, "automaton monitor (`");
    output_char(out, '`');
    for (uint32_t t = first; t < last; t++)
        output_format(out, ", `%s`", labels_text(&net->transitions, t));
    for (size_t k = 0; k < offs; k++)
        write_off(monitoring, ", `", k, "`");
    write_mark(monitoring, ") {\n    on : initial\n    on -> on : {`");
    output_text(out, "`}\n");
    for (uint32_t t = first; t < last; t++)
        output_format(out, "    on -> on : {`%s`}\n", labels_text(&net->transitions, t));
    for (size_t k = 0; k < offs; k++)
        write_off(monitoring, "    on -> off : {`", k, "`}\n");
    output_text(out, "}\n");
}

/* The automaton of a group of alarms. After one of them the monitor cannot fire by itself any more,
 * and the name of the group can turn it off, together with all groups that are still on. */
static void write_group(struct monitoring *monitoring, size_t group)
{
    struct output *out = &monitoring->text;
    size_t first = group * monitoring->group_size;
    size_t left = monitoring->safety->alarm_count - first;
    size_t last = first + (left < monitoring->group_size ? left : monitoring->group_size);
    write_mark(monitoring, "automaton alarms (`");
    output_char(out, '`');
    for (size_t g = 0; g < monitoring->groups; g++)
        write_off(monitoring, ", `", g, "`");
    for (size_t k = first; k < last; k++) {
        write_mark(monitoring, ", `");
        output_format(out, "%zu`", k);
    }
    write_mark(monitoring, ") {\n    on : initial\n    on -> on : {`");
    output_text(out, "`}\n");
    for (size_t k = first; k < last; k++) {
        write_mark(monitoring, "    on -> rung : {`");
        output_format(out, "%zu`}\n", k);
    }
    /* One transition for each name: with two, the groups together would have 2^groups firings. */
    for (size_t g = 0; g < monitoring->groups; g++)
        write_off(monitoring, g == group ? "    rung -> off : {`" : "    on -> off : {`", g,
                  "`}\n");
    output_text(out, "}\n");
}

static bool can_monitor(const struct monitoring *monitoring)
{
    const struct net *net = monitoring->net;
    const size_t *first = monitoring->first_alarm;
    if (monitoring->safety->alarm_count <= ALARMS_ANYWAY)
        return true;
    for (size_t i = 0, ports = 0; i < net->arc_count; i++) {
        const struct net_arc *arc = &net->arcs[i];
        if (i == 0 || arc->place != net->arcs[i - 1].place)
            ports = 0;
        ports += 1 + (arc->takes ? first[arc->transition + 1] - first[arc->transition]
                                 : may_overflow(monitoring, arc));
        if (ports > PORTS_MOST)
            return false;
    }
    return true;
}

static gordian_status read_monitored(struct monitoring *monitoring, gordian_error *error)
{
    const struct net *net = monitoring->net;
    struct safety *safety = monitoring->safety;
    gordian_circuit_options options = {.allocator = &safety->memory};
    struct text made;
    if (!output_open(&monitoring->text, OUTPUT_MEMORY))
        return fail_memory(error);
    for (size_t i = 0, end; i < net->arc_count; i = end, safety->place_count++) {
        for (end = i; end < net->arc_count && net->arcs[end].place == net->arcs[i].place;)
            end++;
        write_place(monitoring, i, end);
    }
    for (uint32_t t = 0; t < net->transitions.count; t += MONITORED) {
        uint32_t left = net->transitions.count - t;
        write_monitor(monitoring, t, t + (left < MONITORED ? left : MONITORED));
    }
    for (size_t g = 0; g < monitoring->groups; g++)
        write_group(monitoring, g);
    gordian_status status = monitoring->text.failure ? fail_memory(error) : GORDIAN_OK;
    THEN(status, text_copy(&made, net->title, monitoring->text.buffer, monitoring->text.used,
                           &net->memory, error));
    output_close(&monitoring->text);
    if (status != GORDIAN_OK)
        return status;
    status = ca_read(&safety->circuit, &made, &options, NULL, error);
    text_free(&made);
    return status;
}

static gordian_status make_monitored(struct monitoring *monitoring, gordian_error *error)
{
    if (!list_alarms(monitoring))
        return fail_memory(error);
    size_t alarms = monitoring->safety->alarm_count;
    monitoring->safety->marks = count_marks(monitoring->net);
    if (alarms > ALARMS_TOGETHER) {
        /* About as many groups as each has alarms: the automaton of a group has names for both. */
        size_t size = 1;
        while (size * size < alarms)
            size++;
        monitoring->group_size = size;
        monitoring->groups = (alarms + size - 1) / size;
    }
    return can_monitor(monitoring) ? read_monitored(monitoring, error) : GORDIAN_OK;
}

/* Takes the names of the net over. */
static gordian_status add_safety(struct monitoring *monitoring, struct net *net,
                                 gordian_circuit *circuit, gordian_error *error)
{
    struct safety *safety = memory_zeroed(&net->memory, sizeof *safety);
    if (!safety)
        return fail_memory(error);
    safety->memory = safety->places.memory = safety->transitions.memory = net->memory;
    monitoring->safety = safety;
    gordian_status status = make_monitored(monitoring, error);
    if (status == GORDIAN_OK) {
        safety->places = net->places;
        safety->transitions = net->transitions;
        net->places = net->transitions = (struct label_table){.memory = net->memory};
        status = safety_attach(circuit, safety, error);
    }
    if (status != GORDIAN_OK)
        safety_free(safety);
    return status;
}

gordian_status net_watch(struct net *net, gordian_circuit *circuit, gordian_error *error)
{
    struct monitoring monitoring = {.net = net};
    bool proved = true;
    monitoring.safe = memory_zeroed(&net->memory, net->places.count + 1);
    if (!monitoring.safe)
        return fail_memory(error);
    gordian_status status = net_prove(net, monitoring.safe, error);
    for (size_t i = 0; i < net->arc_count; i++)
        proved = proved && !may_overflow(&monitoring, &net->arcs[i]);
    if (status == GORDIAN_OK && !proved)
        status = add_safety(&monitoring, net, circuit, error);
    memory_free_all(&net->memory, monitoring.safe, monitoring.first_alarm);
    return status;
}
