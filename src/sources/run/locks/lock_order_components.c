#include "sources/run/locks/lock_order_components.h"

#include "foundation/base/sort.h"
#include "sources/run/state/arena.h"

#include <string.h>

#define FIRST_PARTS (1u << 16)
#define FIRST_STEPS (1u << 17)

enum { AHEAD = 1, BEHIND = 2 }; /* marks: reached from the one end, and from the other */

struct part {
    uint64_t place;         /* in the line */
    uint32_t parent;        /* itself, or one that it has become one with */
    uint32_t out, out_last; /* steps from here, index + 1 */
    uint32_t in, in_last;   /* and to here */
    uint32_t heir;          /* while renewing: its new number + 1 */
    uint8_t marks;
};

struct step {
    uint32_t from, to;
    uint32_t next_out, next_in; /* index + 1 */
    uint32_t chain;             /* with the same hash, index + 1 */
};

static struct part *parts, *old_parts;
static struct step *steps;
static uint32_t *known;          /* steps by hash, index + 1: as many as there is room for */
static uint32_t *ahead, *behind; /* of a search */
static uint64_t *places;         /* of those that move */
static uint32_t part_count, step_count, ahead_count, behind_count;
static size_t part_room = FIRST_PARTS, ahead_room = FIRST_PARTS, behind_room = FIRST_PARTS;
static size_t place_room = 2 * FIRST_PARTS, step_room = FIRST_STEPS, known_room = FIRST_STEPS;
static size_t old_room;
static uint64_t last_place;

/* ------------------------------------------------------------------ room */

bool parts_start(void)
{
    parts = pages_map(part_room * sizeof *parts);
    ahead = pages_map(ahead_room * sizeof *ahead);
    behind = pages_map(behind_room * sizeof *behind);
    places = pages_map(place_room * sizeof *places);
    steps = pages_map(step_room * sizeof *steps);
    known = pages_map(known_room * sizeof *known);
    return parts && ahead && behind && places && steps && known;
}

void parts_clear(void)
{
    memset(known, 0, known_room * sizeof *known);
    part_count = step_count = 0;
    last_place = 0;
}

bool parts_have_room(uint32_t more_parts, uint32_t more_steps)
{
    return part_count + more_parts <= part_room && step_count + more_steps <= step_room;
}

static uint32_t *bucket_of(uint32_t from, uint32_t to)
{
    uint64_t hash = ((uint64_t)from << 32 | to) * 0x9e3779b97f4a7c15u;
    return &known[(hash >> 32) & (known_room - 1)];
}

static void know_again(void)
{
    memset(known, 0, known_room * sizeof *known);
    for (uint32_t i = 0; i < step_count; i++) {
        uint32_t *bucket = bucket_of(steps[i].from, steps[i].to);
        steps[i].chain = *bucket;
        *bucket = i + 1;
    }
}

bool parts_make_room(uint32_t more_parts, uint32_t more_steps)
{
    size_t wanted = part_count + more_parts, before = known_room;
    bool done = pages_grow(&ahead, &ahead_room, wanted, sizeof *ahead) &&
                pages_grow(&behind, &behind_room, wanted, sizeof *behind) &&
                pages_grow(&places, &place_room, 2 * wanted, sizeof *places) &&
                pages_grow(&parts, &part_room, wanted, sizeof *parts) &&
                pages_grow(&known, &known_room, step_count + more_steps, sizeof *known) &&
                pages_grow(&steps, &step_room, step_count + more_steps, sizeof *steps);
    if (known_room != before)
        know_again();
    return done;
}

/* ------------------------------------------------------------------ parts */

uint32_t part_new(void)
{
    uint32_t made = part_count++;
    parts[made] = (struct part){.place = ++last_place, .parent = made};
    return made;
}

static uint32_t root_of(uint32_t part)
{
    while (parts[part].parent != part) {
        parts[part].parent = parts[parts[part].parent].parent;
        part = parts[part].parent;
    }
    return part;
}

bool part_same(uint32_t one, uint32_t two)
{
    return root_of(one) == root_of(two);
}

/* What one part had becomes the other's. */
static void make_one(uint32_t into, uint32_t from)
{
    struct part *to = &parts[into], *gone = &parts[from];
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

/* ------------------------------------------------------------------ keeping the line */

static void reach(uint32_t part, uint8_t mark, uint32_t *list, uint32_t *count)
{
    if (parts[part].marks & mark)
        return;
    parts[part].marks |= mark;
    list[(*count)++] = part;
}

/* Everything that `from` leads to, up to that place. */
static void look_ahead(uint32_t from, uint64_t limit)
{
    ahead_count = 0;
    reach(from, AHEAD, ahead, &ahead_count);
    for (uint32_t i = 0; i < ahead_count; i++)
        for (uint32_t at = parts[ahead[i]].out; at; at = steps[at - 1].next_out) {
            uint32_t to = root_of(steps[at - 1].to);
            if (parts[to].place <= limit)
                reach(to, AHEAD, ahead, &ahead_count);
        }
}

/* Everything that leads to `to`, down to that place. */
static void look_behind(uint32_t to, uint64_t limit)
{
    behind_count = 0;
    reach(to, BEHIND, behind, &behind_count);
    for (uint32_t i = 0; i < behind_count; i++)
        for (uint32_t at = parts[behind[i]].in; at; at = steps[at - 1].next_in) {
            uint32_t from = root_of(steps[at - 1].from);
            if (parts[from].place >= limit)
                reach(from, BEHIND, behind, &behind_count);
        }
}

static bool stands_before(const void *context, const void *left, const void *right)
{
    const struct part *of = context;
    return of[*(const uint32_t *)left].place < of[*(const uint32_t *)right].place;
}

/* Leaves those of the list alone that are not on a circle. */
static uint32_t keep_apart(uint32_t *list, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (parts[list[i]].marks != (AHEAD | BEHIND))
            list[kept++] = list[i];
    sort_in_place(list, kept, sizeof *list, stands_before, parts);
    return kept;
}

static void clear_marks(const uint32_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        parts[list[i]].marks = 0;
}

/* Those behind get the first of all the places, those ahead the last ones, each in their order; and
 * those on a circle become one, in between. */
static void move_parts(uint32_t from)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < behind_count; i++)
        places[count++] = parts[behind[i]].place;
    for (uint32_t i = 0; i < ahead_count; i++)
        if (!(parts[ahead[i]].marks & BEHIND))
            places[count++] = parts[ahead[i]].place;
    sort_words(places, count, 1);
    bool circle = parts[from].marks == (AHEAD | BEHIND);
    for (uint32_t i = 0; i < ahead_count && circle; i++)
        if (ahead[i] != from && parts[ahead[i]].marks == (AHEAD | BEHIND))
            make_one(from, ahead[i]);
    uint32_t first = keep_apart(behind, behind_count), last = keep_apart(ahead, ahead_count);
    for (uint32_t i = 0; i < first; i++)
        parts[behind[i]].place = places[i];
    for (uint32_t i = 0; i < last; i++)
        parts[ahead[i]].place = places[count - last + i];
    if (circle)
        parts[from].place = places[first];
    clear_marks(behind, first);
    clear_marks(ahead, last);
    parts[from].marks = 0;
}

static void add_step(uint32_t from, uint32_t to, uint32_t from_root, uint32_t to_root)
{
    uint32_t *bucket = bucket_of(from, to), index = ++step_count;
    struct part *one = &parts[from_root], *two = &parts[to_root];
    steps[index - 1] = (struct step){from, to, one->out, two->in, *bucket};
    one->out_last = one->out ? one->out_last : index;
    two->in_last = two->in ? two->in_last : index;
    one->out = two->in = *bucket = index;
}

void part_step(uint32_t from, uint32_t to)
{
    for (uint32_t at = *bucket_of(from, to); at; at = steps[at - 1].chain)
        if (steps[at - 1].from == from && steps[at - 1].to == to)
            return;
    uint32_t one = root_of(from), two = root_of(to);
    if (one == two)
        return;
    if (parts[one].place > parts[two].place) {
        look_ahead(two, parts[one].place);
        look_behind(one, parts[two].place);
        move_parts(one);
        one = root_of(one);
        two = root_of(two);
    }
    if (one != two)
        add_step(from, to, one, two);
}

/* ------------------------------------------------------------------ beginning again */

bool parts_renew(void)
{
    struct part *fresh = pages_map(part_room * sizeof *fresh);
    if (!fresh)
        return false;
    old_parts = parts;
    old_room = part_room;
    for (uint32_t i = 0; i < part_count; i++)
        parts[i].parent = root_of(i);
    parts = fresh;
    part_count = step_count = 0;
    memset(known, 0, known_room * sizeof *known);
    return true;
}

uint32_t part_keep(uint32_t part)
{
    struct part *old = &old_parts[old_parts[part].parent];
    if (!old->heir) {
        old->heir = part_count + 1;
        parts[part_count] = (struct part){.place = old->place, .parent = part_count};
        part_count++;
    }
    return old->heir - 1;
}

void parts_renewed(void)
{
    pages_unmap(old_parts, old_room * sizeof *old_parts);
    old_parts = NULL;
}
