#include "sources/run/locks/lock_order_components.h"

#include "foundation/base/sort.h"
#include "sources/run/state/arena.h"

#include <string.h>

#define FIRST_COMPONENTS (1u << 16)
#define FIRST_STEPS      (1u << 17)

enum { AHEAD = 1, BEHIND = 2 }; /* marks of a search: reached forward, reached backward */

struct component {
    uint64_t place;         /* position in topological order */
    uint32_t parent;        /* itself, or the component it was merged into */
    uint32_t out, out_last; /* outgoing steps, index + 1 */
    uint32_t in, in_last;   /* incoming steps */
    uint32_t heir;          /* during components_renew(): its new number + 1 */
    uint8_t marks;
};

struct step {
    uint32_t from, to;
    uint32_t next_out, next_in; /* index + 1 */
    uint32_t chain;             /* with the same hash, index + 1 */
};

static struct component *components, *old_components;
static struct step *steps;
static uint32_t *known;          /* steps by hash, index + 1; as many as there is capacity for */
static uint32_t *ahead, *behind; /* results of a search */
static uint64_t *places;         /* positions of components that move */
static uint32_t component_count, step_count, ahead_count, behind_count;
static size_t component_room = FIRST_COMPONENTS, ahead_room = FIRST_COMPONENTS,
              behind_room = FIRST_COMPONENTS;
static size_t place_room = 2 * FIRST_COMPONENTS, step_room = FIRST_STEPS, known_room = FIRST_STEPS;
static size_t old_room;
static uint64_t last_place;

/* ------------------------------------------------------------------ capacity */

bool components_start(void)
{
    components = pages_map(component_room * sizeof *components);
    ahead = pages_map(ahead_room * sizeof *ahead);
    behind = pages_map(behind_room * sizeof *behind);
    places = pages_map(place_room * sizeof *places);
    steps = pages_map(step_room * sizeof *steps);
    known = pages_map(known_room * sizeof *known);
    return components && ahead && behind && places && steps && known;
}

void components_clear(void)
{
    memset(known, 0, known_room * sizeof *known);
    component_count = step_count = 0;
    last_place = 0;
}

bool components_have_room(uint32_t more_components, uint32_t more_steps)
{
    return component_count + more_components <= component_room &&
           step_count + more_steps <= step_room;
}

static uint32_t *step_bucket(uint32_t from, uint32_t to)
{
    uint64_t hash = ((uint64_t)from << 32 | to) * 0x9e3779b97f4a7c15u;
    return &known[(hash >> 32) & (known_room - 1)];
}

static void rehash_steps(void)
{
    memset(known, 0, known_room * sizeof *known);
    for (uint32_t i = 0; i < step_count; i++) {
        uint32_t *bucket = step_bucket(steps[i].from, steps[i].to);
        steps[i].chain = *bucket;
        *bucket = i + 1;
    }
}

bool components_make_room(uint32_t more_components, uint32_t more_steps)
{
    size_t wanted = component_count + more_components, before = known_room;
    bool done = pages_grow(&ahead, &ahead_room, wanted, sizeof *ahead) &&
                pages_grow(&behind, &behind_room, wanted, sizeof *behind) &&
                pages_grow(&places, &place_room, 2 * wanted, sizeof *places) &&
                pages_grow(&components, &component_room, wanted, sizeof *components) &&
                pages_grow(&known, &known_room, step_count + more_steps, sizeof *known) &&
                pages_grow(&steps, &step_room, step_count + more_steps, sizeof *steps);
    if (known_room != before)
        rehash_steps();
    return done;
}

/* ------------------------------------------------------------------ components */

uint32_t component_new(void)
{
    uint32_t made = component_count++;
    components[made] = (struct component){.place = ++last_place, .parent = made};
    return made;
}

static uint32_t component_root(uint32_t component)
{
    while (components[component].parent != component) {
        components[component].parent = components[components[component].parent].parent;
        component = components[component].parent;
    }
    return component;
}

bool component_same(uint32_t one, uint32_t two)
{
    return component_root(one) == component_root(two);
}

/* Merges a component into another one. */
static void make_one(uint32_t into, uint32_t from)
{
    struct component *to = &components[into], *gone = &components[from];
    if (gone->out) {
        steps[gone->out_last - 1].next_out = to->out;
        to->out_last = to->out ? to->out_last : gone->out_last;
        to->out = gone->out;
    }
    if (gone->in) {
        steps[gone->in_last - 1].next_in = to->in;
        to->in_last = to->in ? to->in_last : gone->in_last;
        to->in = gone->in;
    }
    gone->parent = into;
}

/* ------------------------------------------------------------------ topological order */

static void mark_reached(uint32_t component, uint8_t mark, uint32_t *list, uint32_t *count)
{
    if (components[component].marks & mark)
        return;
    components[component].marks |= mark;
    list[(*count)++] = component;
}

/* Finds everything reachable from `from`, up to this position. */
static void search_forward(uint32_t from, uint64_t limit)
{
    ahead_count = 0;
    mark_reached(from, AHEAD, ahead, &ahead_count);
    for (uint32_t i = 0; i < ahead_count; i++)
        for (uint32_t at = components[ahead[i]].out; at; at = steps[at - 1].next_out) {
            uint32_t to = component_root(steps[at - 1].to);
            if (components[to].place <= limit)
                mark_reached(to, AHEAD, ahead, &ahead_count);
        }
}

/* Finds everything that reaches `to`, down to this position. */
static void search_backward(uint32_t to, uint64_t limit)
{
    behind_count = 0;
    mark_reached(to, BEHIND, behind, &behind_count);
    for (uint32_t i = 0; i < behind_count; i++)
        for (uint32_t at = components[behind[i]].in; at; at = steps[at - 1].next_in) {
            uint32_t from = component_root(steps[at - 1].from);
            if (components[from].place >= limit)
                mark_reached(from, BEHIND, behind, &behind_count);
        }
}

static bool stands_before(const void *context, const void *left, const void *right)
{
    const struct component *of = context;
    return of[*(const uint32_t *)left].place < of[*(const uint32_t *)right].place;
}

/* Keeps only components of the list that are not on a cycle. */
static uint32_t sort_outside_cycle(uint32_t *list, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (components[list[i]].marks != (AHEAD | BEHIND))
            list[kept++] = list[i];
    sort_in_place(list, kept, sizeof *list, stands_before, components);
    return kept;
}

static void clear_marks(const uint32_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        components[list[i]].marks = 0;
}

/* Components that reach the new step get the first of all positions, those reachable from it the
 * last ones, each in their earlier order. Components on a cycle are merged, in between. */
static void move_components(uint32_t from)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < behind_count; i++)
        places[count++] = components[behind[i]].place;
    for (uint32_t i = 0; i < ahead_count; i++)
        if (!(components[ahead[i]].marks & BEHIND))
            places[count++] = components[ahead[i]].place;
    sort_words(places, count, 1);
    bool circle = components[from].marks == (AHEAD | BEHIND);
    for (uint32_t i = 0; i < ahead_count && circle; i++)
        if (ahead[i] != from && components[ahead[i]].marks == (AHEAD | BEHIND))
            make_one(from, ahead[i]);
    uint32_t first = sort_outside_cycle(behind, behind_count),
             last = sort_outside_cycle(ahead, ahead_count);
    for (uint32_t i = 0; i < first; i++)
        components[behind[i]].place = places[i];
    for (uint32_t i = 0; i < last; i++)
        components[ahead[i]].place = places[count - last + i];
    if (circle)
        components[from].place = places[first];
    clear_marks(behind, first);
    clear_marks(ahead, last);
    components[from].marks = 0;
}

static void append_step(uint32_t from, uint32_t to, uint32_t from_root, uint32_t to_root)
{
    uint32_t *bucket = step_bucket(from, to), index = ++step_count;
    struct component *one = &components[from_root], *two = &components[to_root];
    steps[index - 1] = (struct step){from, to, one->out, two->in, *bucket};
    one->out_last = one->out ? one->out_last : index;
    two->in_last = two->in ? two->in_last : index;
    one->out = two->in = *bucket = index;
}

void component_step(uint32_t from, uint32_t to)
{
    for (uint32_t at = *step_bucket(from, to); at; at = steps[at - 1].chain)
        if (steps[at - 1].from == from && steps[at - 1].to == to)
            return;
    uint32_t one = component_root(from), two = component_root(to);
    if (one == two)
        return;
    if (components[one].place > components[two].place) {
        search_forward(two, components[one].place);
        search_backward(one, components[two].place);
        move_components(one);
        one = component_root(one);
        two = component_root(two);
    }
    if (one != two)
        append_step(from, to, one, two);
}

/* ------------------------------------------------------------------ renewal */

bool components_renew(void)
{
    struct component *fresh = pages_map(component_room * sizeof *fresh);
    if (!fresh)
        return false;
    old_components = components;
    old_room = component_room;
    for (uint32_t i = 0; i < component_count; i++)
        components[i].parent = component_root(i);
    components = fresh;
    component_count = step_count = 0;
    memset(known, 0, known_room * sizeof *known);
    return true;
}

uint32_t component_keep(uint32_t component)
{
    struct component *old = &old_components[old_components[component].parent];
    if (!old->heir) {
        old->heir = component_count + 1;
        components[component_count] =
            (struct component){.place = old->place, .parent = component_count};
        component_count++;
    }
    return old->heir - 1;
}

void components_renewed(void)
{
    pages_unmap(old_components, old_room * sizeof *old_components);
    old_components = NULL;
}
