/* Places that never have two tokens, proved without looking at a state.
 *
 * A set of places S keeps its number of tokens, or loses some, if no transition puts more tokens
 * into S than it takes out of S. If S begins with one token, each of its places has at most one for
 * ever. Such a set is searched for around every place: a transition that puts more into S than it
 * takes needs another of its input places in S; which one is tried in turn, with a limit. */
#include "engines/compose/format/net.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

/* Places added to S, for one place of the net, before it is left unproved. */
#define PROOF_ADDED_MOST 4096u

/* The lists of numbers that belong to numbers: list[first[i] .. first[i+1]-1]. */
struct lists {
    size_t *first;
    uint32_t *list;
};

/* One place was chosen for a transition that puts more into S than it takes. */
struct choice {
    uint32_t transition;
    size_t next; /* input place to try next, in `inputs` */
    size_t members, member, producer;
};

struct proof {
    const struct net *net;
    struct lists producers; /* by place: transitions that put into it and take nothing from it */
    struct lists consumers; /* by place: the converse */
    struct lists inputs;    /* by transition: the places of `consumers` */
    uint8_t *inside;        /* by place: it is in S */
    int32_t *balance;       /* by transition: tokens taken from S less those put into S */
    uint32_t *members;      /* of S */
    size_t member_count, marked;
    size_t member, producer; /* the next transition to look at: of which member, which producer */
    struct choice *choices;
    size_t choice_count;
    uint8_t *safe; /* by place: the answer */
};

/* ------------------------------------------------------------------ the lists */

static bool is_listed(const struct net_arc *arc, bool takes)
{
    return takes ? arc->takes && !arc->puts : arc->puts && !arc->takes;
}

/* The places or transitions at the other end of the arcs that only take, or only put. */
static bool make_lists(struct lists *lists, const struct net *net, bool takes, bool by_place)
{
    size_t owners = by_place ? net->places.count : net->transitions.count;
    lists->first = memory_zeroed(&net->memory, (owners + 2) * sizeof *lists->first);
    lists->list = memory_alloc(&net->memory, (net->arc_count + 1) * sizeof *lists->list);
    if (!lists->first || !lists->list)
        return false;
    for (size_t i = 0; i < net->arc_count; i++)
        if (is_listed(&net->arcs[i], takes))
            lists->first[(by_place ? net->arcs[i].place : net->arcs[i].transition) + 2]++;
    for (size_t i = 2; i < owners + 2; i++)
        lists->first[i] += lists->first[i - 1];
    for (size_t i = 0; i < net->arc_count; i++) {
        const struct net_arc *arc = &net->arcs[i];
        if (is_listed(arc, takes))
            lists->list[lists->first[(by_place ? arc->place : arc->transition) + 1]++] =
                by_place ? arc->transition : arc->place;
    }
    return true;
}

/* ------------------------------------------------------------------ the set */

static void add_member(struct proof *proof, uint32_t place)
{
    const struct lists *in = &proof->producers, *out = &proof->consumers;
    proof->members[proof->member_count++] = place;
    proof->inside[place] = 1;
    proof->marked += proof->net->marked[place];
    for (size_t i = in->first[place]; i < in->first[place + 1]; i++)
        proof->balance[in->list[i]]--;
    for (size_t i = out->first[place]; i < out->first[place + 1]; i++)
        proof->balance[out->list[i]]++;
}

static void drop_members(struct proof *proof, size_t count)
{
    const struct lists *in = &proof->producers, *out = &proof->consumers;
    while (proof->member_count > count) {
        uint32_t place = proof->members[--proof->member_count];
        proof->inside[place] = 0;
        proof->marked -= proof->net->marked[place];
        for (size_t i = in->first[place]; i < in->first[place + 1]; i++)
            proof->balance[in->list[i]]++;
        for (size_t i = out->first[place]; i < out->first[place + 1]; i++)
            proof->balance[out->list[i]]--;
    }
}

/* The next transition that puts more into S than it takes; GORDIAN_NONE: there is none. Adding a
 * place makes such transitions among its own producers only, and these are looked at later. */
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

/* Adds the next input place of the choice's transition that may be in S. */
static bool try_next(struct proof *proof, struct choice *choice)
{
    const struct lists *inputs = &proof->inputs;
    size_t end = inputs->first[choice->transition + 1];
    while (choice->next < end) {
        uint32_t place = inputs->list[choice->next++];
        if (proof->inside[place] || proof->marked + proof->net->marked[place] > 1)
            continue;
        add_member(proof, place);
        return true;
    }
    return false;
}

/* Takes back choices until another place can be tried. */
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

/* Is there such a set around the place? */
static bool find_set(struct proof *proof, uint32_t place)
{
    size_t added = 0;
    proof->member = proof->producer = 0;
    add_member(proof, place);
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
                make_lists(&proof.producers, net, false, true) &&
                make_lists(&proof.consumers, net, true, true) &&
                make_lists(&proof.inputs, net, true, false);
    if (fine) {
        for (uint32_t place = 0; place < proof.net->places.count; place++) {
            if (proof.safe[place])
                continue;
            bool found = find_set(&proof, place);
            for (size_t i = 0; found && i < proof.member_count; i++)
                proof.safe[proof.members[i]] = 1;
            drop_members(&proof, 0);
            proof.choice_count = 0;
        }
    }
    memory_free_all(memory, proof.inside, proof.balance, proof.members, proof.choices,
                    proof.producers.first, proof.producers.list, proof.consumers.first,
                    proof.consumers.list, proof.inputs.first, proof.inputs.list);
    return fine ? GORDIAN_OK : fail_memory(error);
}
