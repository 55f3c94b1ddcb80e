/* Symmetries of a circuit, found by colour refinement (symmetry.h). */
#include "engines/compose/explore/symmetry.h"

#include "engines/compose/circuit/union_find.h"
#include "foundation/base/error.h"
#include "foundation/base/sort.h"

#include <string.h>

#define FACTORS_MAX      1024u
#define PERMUTATIONS_MAX 4096u
#define WORK_MAX         (UINT64_C(1) << 25) /* moves processed: about a tenth of a second */

/* ------------------------------------------------------------------ firings by their moves */

static uint64_t hash_move(uint64_t factor, const struct firing_move *move)
{
    return hash_stir(hash_word(factor + 1), (uint64_t)move->from << 32 | move->to);
}

/* A sum, because a permutation changes the order of the moves. */
static uint64_t hash_firing(const struct firings *firings, size_t firing, const uint32_t *as)
{
    uint64_t sum = 0;
    for (size_t m = firings->first[firing]; m < firings->first[firing + 1]; m++) {
        const struct firing_move *move = &firings->moves[m];
        sum += hash_move(as ? as[move->factor] : move->factor, move);
    }
    return hash_word(sum);
}

static void put_firings(const void *context, struct hash *table)
{
    const struct firings *firings = context;
    for (size_t i = 0; i < firings->count; i++)
        hash_put(table, hash_firing(firings, i, NULL), (uint32_t)i);
}

static bool has_move(const struct firings *firings, size_t firing, uint32_t factor,
                     const struct firing_move *like)
{
    for (size_t m = firings->first[firing]; m < firings->first[firing + 1]; m++) {
        const struct firing_move *move = &firings->moves[m];
        if (move->factor == factor)
            return move->from == like->from && move->to == like->to;
    }
    return false;
}

static bool is_image(const struct firings *firings, size_t firing, size_t of, const uint32_t *as)
{
    const size_t *first = firings->first;
    bool same = first[firing + 1] - first[firing] == first[of + 1] - first[of];
    for (size_t m = first[of]; m < first[of + 1] && same; m++)
        same = has_move(firings, firing, as[firings->moves[m].factor], &firings->moves[m]);
    return same;
}

uint32_t symmetry_firing(const struct symmetry *symmetry, uint32_t firing, const uint32_t *as)
{
    const struct firings *firings = symmetry->firings;
    struct hash_probe probe = hash_probe(&symmetry->table, hash_firing(firings, firing, as));
    while (hash_meet(&symmetry->table, &probe))
        if (is_image(firings, probe.number, firing, as))
            return probe.number;
    return GORDIAN_NONE;
}

/* ------------------------------------------------------------------ colours */

/* One side of a candidate permutation: the colours of the automata, or of their images. */
struct colouring {
    uint64_t *of;     /* by factor */
    uint64_t *sorted; /* the same colours, sorted */
    uint64_t *kept;   /* the colours before an automaton was individualized */
};

struct colours {
    struct symmetry *symmetry;
    struct colouring from, to;
    uint64_t *base; /* colours with the first automata individualized */
    uint64_t *sums; /* by factor: contributions of its firings */
    uint32_t *image;
    uint32_t *heads; /* by factor: the representative of the automata it is known to be exchangeable
                        with */
    uint64_t work;
};

/* Refines the colour of every automaton by its firings, and these by the automata in them. */
static void mix_colours(struct colours *c, uint64_t *of)
{
    const struct firings *firings = c->symmetry->firings;
    uint32_t factors = c->symmetry->factors;
    memset(c->sums, 0, factors * sizeof *c->sums);
    for (size_t i = 0; i < firings->count; i++) {
        uint64_t sum = 0;
        for (size_t m = firings->first[i]; m < firings->first[i + 1]; m++)
            sum += hash_move(of[firings->moves[m].factor], &firings->moves[m]);
        sum = hash_word(sum);
        for (size_t m = firings->first[i]; m < firings->first[i + 1]; m++)
            c->sums[firings->moves[m].factor] += hash_move(sum, &firings->moves[m]);
    }
    for (uint32_t f = 0; f < factors; f++)
        of[f] = hash_stir(hash_word(of[f]), c->sums[f]);
    c->work += 2 * firings->move_count + factors;
}

static size_t sort_colours(const struct colours *c, struct colouring *side)
{
    size_t classes = 0, factors = c->symmetry->factors;
    memcpy(side->sorted, side->of, factors * sizeof *side->of);
    sort_words(side->sorted, factors, 1);
    for (size_t f = 0; f < factors; f++)
        classes += f == 0 || side->sorted[f] != side->sorted[f - 1];
    return classes;
}

/* Refines the colours of `side` until the partition is stable. Refines `other`, unless it is NULL,
 * the same number of times. Returns the number of colours, or 0 if the two sides differ. */
static size_t refine_colours(struct colours *c, struct colouring *side, struct colouring *other)
{
    size_t classes = sort_colours(c, side), before = 0;
    while (classes > before && c->work < WORK_MAX) {
        before = classes;
        mix_colours(c, side->of);
        classes = sort_colours(c, side);
        if (other) {
            mix_colours(c, other->of);
            sort_colours(c, other);
            if (memcmp(side->sorted, other->sorted, c->symmetry->factors * sizeof(uint64_t)) != 0)
                return 0;
        }
    }
    return classes;
}

static void keep_colours(const struct colours *c, struct colouring *side, bool back)
{
    memcpy(back ? side->of : side->kept, back ? side->kept : side->of,
           c->symmetry->factors * sizeof *side->of);
}

/* Maps `from` to `to` if the refined colours allow it. */
static size_t pair_up(struct colours *c, uint32_t from, uint32_t to)
{
    if (c->from.of[from] != c->to.of[to])
        return 0;
    keep_colours(c, &c->from, false);
    keep_colours(c, &c->to, false);
    c->from.of[from] = c->to.of[to] = hash_stir(c->from.of[from], HASH_MULTIPLIER_2);
    size_t classes = refine_colours(c, &c->from, &c->to);
    if (classes == 0) {
        keep_colours(c, &c->from, true);
        keep_colours(c, &c->to, true);
    }
    return classes;
}

/* Maps an automaton whose colour is not unique to itself, or else to the first possible one. */
static size_t pair_next(struct colours *c, uint32_t *next)
{
    uint32_t factors = c->symmetry->factors;
    for (; *next < factors; ++*next) {
        size_t count = 0;
        for (uint32_t f = 0; f < factors && count < 2; f++)
            count += c->from.of[f] == c->from.of[*next];
        if (count > 1)
            break;
    }
    size_t classes = *next < factors ? pair_up(c, *next, *next) : 0;
    for (uint32_t to = 0; to < factors && classes == 0 && c->work < WORK_MAX; to++)
        classes = *next < factors && to != *next ? pair_up(c, *next, to) : 0;
    return classes;
}

/* ------------------------------------------------------------------ permutations */

static bool is_symmetry(struct colours *c)
{
    const struct firings *firings = c->symmetry->firings;
    for (uint32_t f = 0; f < c->symmetry->factors; f++) {
        const struct shape *mine = factor_shape(firings->circuit, f);
        const struct shape *theirs = factor_shape(firings->circuit, c->image[f]);
        if (mine->initial_count != theirs->initial_count)
            return false;
    }
    c->work += firings->move_count;
    for (size_t i = 0; i < firings->count; i++)
        if (symmetry_firing(c->symmetry, (uint32_t)i, c->image) == GORDIAN_NONE)
            return false;
    return true;
}

/* Reads the permutation from the colours. Returns false if it is not a bijection. */
static bool read_image(struct colours *c)
{
    uint32_t factors = c->symmetry->factors;
    memset(c->image, 0xff, factors * sizeof *c->image);
    for (uint32_t to = 0; to < factors; to++)
        for (uint32_t f = 0; f < factors; f++)
            if (c->from.of[f] == c->to.of[to]) {
                if (c->image[f] != GORDIAN_NONE)
                    return false;
                c->image[f] = to;
                break;
            }
    for (uint32_t f = 0; f < factors; f++)
        if (c->image[f] == GORDIAN_NONE)
            return false;
    return true;
}

static bool is_known_permutation(const struct symmetry *s, size_t first, size_t count)
{
    for (size_t p = 0; p < s->count; p++)
        if (s->first[p + 1] - s->first[p] == count &&
            memcmp(s->points + s->first[p], s->points + first, count * sizeof *s->points) == 0)
            return true;
    return false;
}

static bool keep_image(struct colours *c)
{
    struct symmetry *s = c->symmetry;
    size_t first = s->first[s->count], at = first;
    uint32_t *from = s->work;
    for (uint32_t f = 0; f < s->factors; f++)
        from[c->image[f]] = f;
    if (!memory_grow(&s->memory, &s->points, &s->point_room, first + s->factors,
                     sizeof *s->points) ||
        !memory_grow(&s->memory, &s->first, &s->first_room, s->count + 2, sizeof *s->first))
        return false;
    for (uint32_t f = 0; f < s->factors; f++)
        if (from[f] != f)
            s->points[at++] = (struct symmetry_point){f, from[f]};
    if (at > first && !is_known_permutation(s, first, at - first))
        s->first[++s->count] = at;
    return true;
}

/* Searches a permutation that maps `from` to `to` and fixes the automata that `base`
 * individualizes. */
static bool seek_image(struct colours *c, uint32_t from, uint32_t to)
{
    uint32_t factors = c->symmetry->factors, next = 0;
    memcpy(c->from.of, c->base, factors * sizeof *c->base);
    memcpy(c->to.of, c->base, factors * sizeof *c->base);
    size_t classes = pair_up(c, from, to);
    while (classes > 0 && classes < factors && c->work < WORK_MAX)
        classes = pair_next(c, &next);
    return classes < factors || !read_image(c) || !is_symmetry(c) || keep_image(c);
}

/* ------------------------------------------------------------------ search targets */

/* Merges the automata that known permutations map to each other. Uses the permutations that fix the
 * first `fixed` automata. */
static void join_heads(struct colours *c, uint32_t fixed)
{
    const struct symmetry *s = c->symmetry;
    for (uint32_t f = 0; f < s->factors; f++)
        c->heads[f] = f;
    for (size_t p = 0; p < s->count; p++)
        for (size_t i = s->first[p]; i < s->first[p + 1] && s->points[s->first[p]].at >= fixed;
             i++) {
            uint32_t at = union_find_root(c->heads, s->points[i].at),
                     from = union_find_root(c->heads, s->points[i].from);
            c->heads[at > from ? at : from] = at > from ? from : at;
        }
}

static bool may_seek(const struct colours *c)
{
    return c->work < WORK_MAX && c->symmetry->count < PERMUTATIONS_MAX;
}

/* With the first `fixed` automata fixed: finds the automata that can replace the next one. */
static bool seek_images_of(struct colours *c, uint32_t fixed)
{
    bool fine = true;
    join_heads(c, fixed);
    for (uint32_t to = fixed + 1; to < c->symmetry->factors && fine && may_seek(c); to++)
        if (c->base[to] == c->base[fixed] &&
            union_find_root(c->heads, to) != union_find_root(c->heads, fixed)) {
            fine = seek_image(c, fixed, to);
            join_heads(c, fixed);
        }
    return fine;
}

/* For every class of automata with equal colours, tries to map the first automaton to each other
 * one, and each automaton to the next one. This makes the normalized state the greatest image if
 * all can be exchanged, and if they form a ring. */
static bool seek_all_images(struct colours *c)
{
    uint32_t factors = c->symmetry->factors;
    bool fine = true;
    for (uint32_t to = 1; to < factors && fine; to++) {
        uint32_t head = 0, last = to;
        while (c->base[head] != c->base[to])
            head++;
        while (last > head && (last == to || c->base[last] != c->base[to]))
            last--;
        if (head < to && may_seek(c))
            fine = seek_image(c, head, to);
        if (fine && last != head && may_seek(c))
            fine = seek_image(c, last, to);
    }
    return fine;
}

static bool seek_symmetries(struct colours *c)
{
    uint32_t factors = c->symmetry->factors;
    struct colouring base = {c->base, c->from.sorted, NULL};
    for (uint32_t f = 0; f < factors; f++)
        c->base[f] = factor_shape(c->symmetry->firings->circuit, f)->initial_count;
    size_t classes = refine_colours(c, &base, NULL);
    bool fine = classes == factors || seek_all_images(c);
    for (uint32_t f = 0; f < factors && fine && classes < factors && may_seek(c); f++) {
        fine = seek_images_of(c, f);
        c->base[f] = hash_stir(c->base[f], HASH_MULTIPLIER_2);
        classes = refine_colours(c, &base, NULL);
    }
    return fine;
}

/* ------------------------------------------------------------------ open and close */

static bool open_colours(struct colours *c, struct symmetry *s)
{
    uint64_t **lists[] = {&c->from.of,   &c->from.sorted, &c->from.kept, &c->to.of,
                          &c->to.sorted, &c->to.kept,     &c->base,      &c->sums};
    bool fine = true;
    *c = (struct colours){.symmetry = s};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        *lists[i] = memory_alloc(&s->memory, (s->factors + 1) * sizeof **lists[i]);
        fine &= *lists[i] != NULL;
    }
    c->image = memory_alloc(&s->memory, (s->factors + 1) * sizeof *c->image);
    c->heads = memory_alloc(&s->memory, (s->factors + 1) * sizeof *c->heads);
    return fine && c->image && c->heads;
}

gordian_status symmetry_open(struct symmetry *symmetry, const struct firings *firings,
                             const gordian_allocator *memory, gordian_error *error)
{
    struct colours colours;
    *symmetry = (struct symmetry){
        .memory = *memory, .firings = firings, .factors = (uint32_t)firings->circuit->factor_count};
    if (symmetry->factors > FACTORS_MAX || firings->move_count > WORK_MAX / 64)
        return GORDIAN_OK;
    uint32_t count = (uint32_t)firings->count;
    symmetry->first = memory_zeroed(memory, sizeof *symmetry->first);
    symmetry->first_room = 1;
    symmetry->work = memory_alloc(memory, (symmetry->factors + 1) * sizeof *symmetry->work);
    bool fine = open_colours(&colours, symmetry) && symmetry->first && symmetry->work &&
                hash_reserve(&symmetry->table, memory, count, count, put_firings, firings);
    fine = fine && seek_symmetries(&colours);
    memory_free_all(memory, colours.from.of, colours.from.sorted, colours.from.kept, colours.to.of,
                    colours.to.sorted, colours.to.kept, colours.base, colours.sums);
    memory_free_all(memory, colours.image, colours.heads);
    if (!fine)
        symmetry_close(symmetry);
    return fine ? GORDIAN_OK : fail_memory(error);
}

void symmetry_close(struct symmetry *symmetry)
{
    hash_free(&symmetry->table, &symmetry->memory);
    memory_free_all(&symmetry->memory, symmetry->first, symmetry->points, symmetry->work);
    *symmetry = (struct symmetry){0};
}

/* ------------------------------------------------------------------ states */

static bool gives_more(const struct symmetry *s, size_t permutation, const uint32_t *state)
{
    for (size_t i = s->first[permutation]; i < s->first[permutation + 1]; i++) {
        uint32_t now = state[s->points[i].at], then = state[s->points[i].from];
        if (now != then)
            return then > now;
    }
    return false;
}

void symmetry_apply(const struct symmetry *symmetry, size_t permutation, uint32_t *state)
{
    const struct symmetry_point *points = symmetry->points + symmetry->first[permutation];
    size_t count = symmetry->first[permutation + 1] - symmetry->first[permutation];
    for (size_t i = 0; i < count; i++)
        symmetry->work[i] = state[points[i].from];
    for (size_t i = 0; i < count; i++)
        state[points[i].at] = symmetry->work[i];
}

void symmetry_settle(const struct symmetry *symmetry, uint32_t *state, uint32_t *whose)
{
    bool again = symmetry->count > 0;
    for (uint32_t f = 0; f < symmetry->factors && whose; f++)
        whose[f] = f;
    while (again) {
        again = false;
        for (size_t p = 0; p < symmetry->count; p++)
            if (gives_more(symmetry, p, state)) {
                symmetry_apply(symmetry, p, state);
                if (whose)
                    symmetry_apply(symmetry, p, whose);
                again = true;
            }
    }
}
