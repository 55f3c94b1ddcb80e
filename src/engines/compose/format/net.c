/* Converts a net to a circuit: writes a .ca text and reads it. Proves that places are 1-safe. */
#include "engines/compose/format/net.h"

#include "engines/compose/circuit/net_safety.h"
#include "engines/compose/format/ca.h"
#include "foundation/base/error.h"
#include "foundation/base/io/output.h"
#include "foundation/base/memory.h"

#include <string.h>

void net_free(struct net *net)
{
    memory_free_all(&net->memory, net->arcs, net->marked);
    labels_free(&net->places);
    labels_free(&net->transitions);
}

/* ------------------------------------------------------------------ proof */

/* Proves that places never have two tokens, by analysis of the structure. A set of places S never
 * gains tokens if no transition adds more tokens to S than it removes. If S has one token
 * initially, each of its places has at most one forever. The search for such a set starts at each
 * place. A transition that adds more to S than it removes needs another of its input places in S;
 * the candidates are tried in turn, up to a limit. */
/* Places that may be added to S for one place of the net. */
#define PROOF_ADDED_MOST 4096u

/* Lists by number: list[first[i] .. first[i+1]-1]. */
struct lists {
    size_t *first;
    uint32_t *list;
};

/* The place chosen for a transition that adds more to S than it removes. */
struct choice {
    uint32_t transition;
    size_t next; /* input place to try next, in `inputs` */
    size_t members, member, producer;
};

struct proof {
    const struct net *net;
    struct lists producers; /* by place: transitions that add a token to it and remove none */
    struct lists consumers; /* by place: transitions that remove a token from it and add none */
    struct lists inputs;    /* by transition: the places of `consumers` */
    uint8_t *inside;        /* by place: it is in S */
    int32_t *balance;       /* by transition: tokens removed from S minus tokens added to S */
    uint32_t *members;      /* of S */
    size_t member_count, marked;
    size_t member, producer; /* the next transition to check: member and producer */
    struct choice *choices;
    size_t choice_count;
    uint8_t *safe; /* by place: the result */
};

/* ------------------------------------------------------------------ the lists */

static bool is_one_way(const struct net_arc *arc, bool takes)
{
    return takes ? arc->takes && !arc->puts : arc->puts && !arc->takes;
}

/* Lists the places or transitions at the other end of arcs that only take, or only put. */
static bool make_arc_lists(struct lists *lists, const struct net *net, bool takes, bool by_place)
{
    size_t owners = by_place ? net->places.count : net->transitions.count;
    lists->first = memory_zeroed(&net->memory, (owners + 2) * sizeof *lists->first);
    lists->list = memory_alloc(&net->memory, (net->arc_count + 1) * sizeof *lists->list);
    if (!lists->first || !lists->list)
        return false;
    for (size_t i = 0; i < net->arc_count; i++)
        if (is_one_way(&net->arcs[i], takes))
            lists->first[(by_place ? net->arcs[i].place : net->arcs[i].transition) + 2]++;
    for (size_t i = 2; i < owners + 2; i++)
        lists->first[i] += lists->first[i - 1];
    for (size_t i = 0; i < net->arc_count; i++) {
        const struct net_arc *arc = &net->arcs[i];
        if (is_one_way(arc, takes))
            lists->list[lists->first[(by_place ? arc->place : arc->transition) + 1]++] =
                by_place ? arc->transition : arc->place;
    }
    return true;
}

/* ------------------------------------------------------------------ the set */

/* Moves a place into S (`inside` 1) or out of it (0). */
static void move_place(struct proof *proof, uint32_t place, uint8_t inside)
{
    const struct lists *in = &proof->producers, *out = &proof->consumers;
    int32_t change = inside ? 1 : -1;
    proof->inside[place] = inside;
    proof->marked += (size_t)change * proof->net->marked[place];
    for (size_t i = in->first[place]; i < in->first[place + 1]; i++)
        proof->balance[in->list[i]] -= change;
    for (size_t i = out->first[place]; i < out->first[place + 1]; i++)
        proof->balance[out->list[i]] += change;
}

static void add_proof_member(struct proof *proof, uint32_t place)
{
    proof->members[proof->member_count++] = place;
    move_place(proof, place, 1);
}

static void drop_members(struct proof *proof, size_t count)
{
    while (proof->member_count > count)
        move_place(proof, proof->members[--proof->member_count], 0);
}

/* Returns the next transition that adds more to S than it removes; GORDIAN_NONE: none. Adding a
 * place creates such transitions only among its own producers, which are checked later. */
static uint32_t next_unbalanced(struct proof *proof)
{
    const struct lists *producers = &proof->producers;
    for (; proof->member < proof->member_count; proof->member++, proof->producer = 0) {
        uint32_t place = proof->members[proof->member];
        size_t count = producers->first[place + 1] - producers->first[place];
        for (; proof->producer < count; proof->producer++) {
            uint32_t transition = producers->list[producers->first[place] + proof->producer];
            if (proof->balance[transition] < 0)
                return transition;
        }
    }
    return GORDIAN_NONE;
}

/* Adds the next possible input place of the choice's transition. */
static bool try_next(struct proof *proof, struct choice *choice)
{
    const struct lists *inputs = &proof->inputs;
    size_t end = inputs->first[choice->transition + 1];
    while (choice->next < end) {
        uint32_t place = inputs->list[choice->next++];
        if (proof->inside[place] || proof->marked + proof->net->marked[place] > 1)
            continue;
        add_proof_member(proof, place);
        return true;
    }
    return false;
}

/* Backtracks until another place can be tried. */
static bool step_back(struct proof *proof)
{
    while (proof->choice_count > 0) {
        struct choice *choice = &proof->choices[proof->choice_count - 1];
        drop_members(proof, choice->members);
        proof->member = choice->member;
        proof->producer = choice->producer;
        if (try_next(proof, choice))
            return true;
        proof->choice_count--;
    }
    return false;
}

/* Is there such a set with this place? */
static bool find_set(struct proof *proof, uint32_t place)
{
    size_t added = 0;
    proof->member = proof->producer = 0;
    add_proof_member(proof, place);
    while (added++ < PROOF_ADDED_MOST) {
        uint32_t transition = next_unbalanced(proof);
        if (transition == GORDIAN_NONE)
            return true;
        struct choice *choice = &proof->choices[proof->choice_count++];
        *choice = (struct choice){transition, proof->inputs.first[transition], proof->member_count,
                                  proof->member, proof->producer};
        if (!try_next(proof, choice) && !step_back(proof))
            return false;
    }
    return false;
}

gordian_status net_prove(const struct net *net, uint8_t *safe, gordian_error *error)
{
    const gordian_allocator *memory = &net->memory;
    size_t places = net->places.count, transitions = net->transitions.count;
    struct proof proof = {.net = net, .safe = safe};
    proof.inside = memory_zeroed(memory, places + 1);
    proof.balance = memory_zeroed(memory, (transitions + 1) * sizeof *proof.balance);
    proof.members = memory_alloc(memory, (places + 1) * sizeof *proof.members);
    proof.choices = memory_alloc(memory, (places + 1) * sizeof *proof.choices);
    bool fine = proof.inside && proof.balance && proof.members && proof.choices &&
                make_arc_lists(&proof.producers, net, false, true) &&
                make_arc_lists(&proof.consumers, net, true, true) &&
                make_arc_lists(&proof.inputs, net, true, false);
    for (uint32_t place = 0; fine && place < places; place++) {
        if (proof.safe[place])
            continue;
        bool found = find_set(&proof, place);
        for (size_t i = 0; found && i < proof.member_count; i++)
            proof.safe[proof.members[i]] = 1;
        drop_members(&proof, 0);
        proof.choice_count = 0;
    }
    memory_free_all(memory, proof.inside, proof.balance, proof.members, proof.choices,
                    proof.producers.first, proof.producers.list, proof.consumers.first,
                    proof.consumers.list, proof.inputs.first, proof.inputs.list);
    return fine ? GORDIAN_OK : fail_memory(error);
}

/* ------------------------------------------------------------------ monitor */

/* The circuit that finds second tokens in places (circuit/net_safety.h). */
#define MONITORED 1024u /* transitions per automaton of the monitor */
/* With at most this many alarms, every automaton of the monitor has all of them. Finding the
 * firings takes the square of its ports per alarm, so more alarms are divided into groups. */
#define ALARMS_TOGETHER 256u
/* A net with more alarms is monitored only if no place has more names than PORTS_MOST: the search
 * for firings combines all transitions of two places. */
#define ALARMS_ANYWAY 4096u
#define PORTS_MOST    1024u

struct monitoring {
    const struct net *net;
    struct safety *safety;
    uint8_t *safe;             /* by place */
    size_t *first_alarm;       /* by transition */
    size_t group_size, groups; /* of alarms; 0: every automaton of the monitor has all alarms */
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

/* One '!' more than at the start of any transition's name. */
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

/* Writes the alarms that involve the place: `before`, the name, `after` for each. */
static void write_alarms(struct monitoring *monitoring, const struct net_arc *arc,
                         const char *before, const char *after)
{
    const struct safety *safety = monitoring->safety;
    if (!safety || (!arc->takes && monitoring->safe[arc->place]))
        return;
    for (size_t k = monitoring->first_alarm[arc->transition];
         k < monitoring->first_alarm[arc->transition + 1]; k++) {
        if (!arc->takes && safety->alarms[k].place != arc->place)
            continue;
        write_mark(monitoring, before);
        output_format(&monitoring->text, "%zu%s", k, after);
    }
}

/* Writes the automaton of a place, with the alarms if the net is monitored. */
static void write_place_automaton(struct monitoring *monitoring, size_t first, size_t end)
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

/* Writes the automata of all places and returns their number. */
static size_t write_place_automata(struct monitoring *monitoring)
{
    const struct net *net = monitoring->net;
    size_t places = 0;
    for (size_t i = 0, end; i < net->arc_count; i = end, places++) {
        for (end = i; end < net->arc_count && net->arcs[end].place == net->arcs[i].place;)
            end++;
        write_place_automaton(monitoring, i, end);
    }
    return places;
}

/* Reads the circuit from the text, and closes the text. */
static gordian_status read_written(gordian_circuit **out, struct monitoring *monitoring,
                                   const gordian_circuit_options *options, gordian_status status,
                                   gordian_error *error)
{
    struct text made;
    const struct net *net = monitoring->net;
    if (status == GORDIAN_OK && monitoring->text.failure)
        status = fail_memory(error);
    THEN(status, text_copy(&made, net->title, monitoring->text.buffer, monitoring->text.used,
                           &net->memory, error));
    output_close(&monitoring->text);
    TRY(status);
    status = ca_read(out, &made, options, NULL, error);
    text_free(&made);
    return status;
}

/* Writes a name that turns the monitor off: an alarm, or the name of a group of alarms. */
static void write_off(struct monitoring *monitoring, const char *before, size_t number,
                      const char *after)
{
    write_mark(monitoring, before);
    output_format(&monitoring->text, "%s%zu%s", monitoring->groups ? "off" : "", number, after);
}

/* Writes one of the automata of the monitor: for the transitions from `first` to `last`. */
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

/* Writes the automaton of a group of alarms. After one of them the monitor cannot fire on its own,
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
    /* One transition per name. With two, the groups together would have 2^groups firings. */
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
    if (!output_open(&monitoring->text, OUTPUT_MEMORY))
        return fail_memory(error);
    safety->place_count = write_place_automata(monitoring);
    for (uint32_t t = 0; t < net->transitions.count; t += MONITORED) {
        uint32_t left = net->transitions.count - t;
        write_monitor(monitoring, t, t + (left < MONITORED ? left : MONITORED));
    }
    for (size_t g = 0; g < monitoring->groups; g++)
        write_group(monitoring, g);
    return read_written(&safety->circuit, monitoring, &options, GORDIAN_OK, error);
}

static gordian_status make_monitored(struct monitoring *monitoring, gordian_error *error)
{
    if (!list_alarms(monitoring))
        return fail_memory(error);
    size_t alarms = monitoring->safety->alarm_count;
    monitoring->safety->marks = count_marks(monitoring->net);
    if (alarms > ALARMS_TOGETHER) {
        /* The number of groups is about the number of alarms per group, because the automaton of a
         * group has names for both. */
        size_t size = 1;
        while (size * size < alarms)
            size++;
        monitoring->group_size = size;
        monitoring->groups = (alarms + size - 1) / size;
    }
    return can_monitor(monitoring) ? read_monitored(monitoring, error) : GORDIAN_OK;
}

/* Takes ownership of the names of the net. */
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

/* ------------------------------------------------------------------ the circuit */

/* A transition without places is always enabled. */
static gordian_status write_unbound_transitions(const struct net *net, struct output *out,
                                                gordian_error *error)
{
    uint8_t *bound = memory_zeroed(&net->memory, net->transitions.count + 1);
    if (!bound)
        return fail_memory(error);
    for (size_t i = 0; i < net->arc_count; i++)
        bound[net->arcs[i].transition] = 1;
    for (uint32_t t = 0; t < net->transitions.count; t++)
        if (!bound[t])
            output_format(out, "automaton free (`%s`) { one* -> one : {`%s`} }\n",
                          labels_text(&net->transitions, t), labels_text(&net->transitions, t));
    memory_free(&net->memory, bound);
    return GORDIAN_OK;
}

gordian_status net_circuit(gordian_circuit **out, struct net *net,
                           const gordian_circuit_options *options, gordian_error *error)
{
    struct monitoring plain = {.net = net};
    if (!output_open(&plain.text, OUTPUT_MEMORY))
        return fail_memory(error);
    write_place_automata(&plain);
    TRY(read_written(out, &plain, options, write_unbound_transitions(net, &plain.text, error),
                     error));
    gordian_status status = circuit_title(*out, net->title, error);
    THEN(status, net_watch(net, *out, error));
    if (status != GORDIAN_OK) {
        gordian_circuit_close(*out);
        *out = NULL;
    }
    return status;
}
