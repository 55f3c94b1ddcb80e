/*
 * What can happen in one state: the indivisible firings enabled in it, and the joint ones made of
 * them. A joint firing is a non-empty set of enabled firings that move different factors; each such
 * set is one transition of the product, and no two sets are the same transition.
 *
 * A scene belongs to one thread and is used for one state after another.
 */
#pragma once

#include "engines/compose/explore/packing.h"

struct enabled {
    const struct patch *patches;
    const struct firing_move *moves;
    const uint64_t *label;
    uint32_t patch_count, move_count;
};

struct scene {
    gordian_allocator memory;
    const struct packing *packing;
    struct seeker *seeker; /* where the firings are not listed */
    struct enabled *enabled;
    size_t count, room;
    bool rivals; /* some of them move the same factor: `apart` is made when it is needed */
    bool compared;

    /* By pairs of enabled firings: bit k of row i: i and k move the same factor. */
    uint64_t *apart;
    size_t apart_room, row_words;
    uint32_t *moved_by; /* by factor and enabled firing: see enabled_firings.c */
    uint64_t *work;     /* sets of enabled firings, for counting and choosing */
    size_t work_room;

    /* Firings sought. */
    uint32_t *locals;
    struct firing_move *moves;
    size_t move_count, move_room;
    struct patch *patches;
    size_t patch_count, patch_room;
    uint64_t *labels;
    size_t label_room;
    size_t *move_first, *patch_first;
    size_t move_first_room, patch_first_room;

    uint64_t *to;    /* the state a joint firing leads to */
    uint64_t *label; /* its label */

    /* Room for the thread's own: a state it is at, packed and not. */
    uint64_t *here;
    uint32_t *here_locals;
};

gordian_status scene_open(struct scene *scene, const struct packing *packing,
                          const gordian_allocator *memory, gordian_error *error);
void scene_close(struct scene *scene);

/* Finds what is enabled. False: out of memory. */
bool scene_look(struct scene *scene, const uint64_t *state);

/* How many joint firings there are; UINT64_MAX: that many or more. False: out of memory. */
bool scene_count(struct scene *scene, uint64_t *count);

/* Calls `take` for every joint firing, or for every enabled one if `indivisible`; scene->to and
 * scene->label say what it is. Ends early when `take` returns false. False: it did, or out of
 * memory (*memory says so). */
bool scene_each(struct scene *scene, const uint64_t *state, bool indivisible,
                bool (*take)(void *context, const struct scene *scene), void *context,
                bool *memory);
