/*
 * The firings enabled in one state: the indivisible ones, and the joint ones that they form. A
 * joint firing is a non-empty set of enabled firings that move different factors. Each such set is
 * one transition of the product, and different sets are different transitions.
 *
 * A view belongs to one thread, which reuses it for many states.
 */
#pragma once

#include "engines/compose/explore/packing.h"

struct enabled {
    const struct patch *patches;
    const struct firing_move *moves;
    const uint64_t *label;
    uint32_t patch_count, move_count;
};

struct firing_view {
    gordian_allocator memory;
    const struct packing *packing;
    struct firing_finder *finder; /* if the firings are not listed */
    struct enabled *enabled;
    size_t count, room;
    bool rivals; /* some of them may move the same factor: `apart` is computed when it is needed */
    bool compared;

    /* By pair of enabled firings: bit k of row i: i and k move the same factor. */
    uint64_t *apart;
    size_t apart_room, row_words;
    uint32_t *moved_by; /* by factor: a list of enabled firings (enabled_firings.c) */
    uint64_t *work;     /* sets of enabled firings, for counting and choosing */
    size_t work_room;

    /* Buffers for firings found by the finder. */
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

    /* Buffers for the owner of the view: a state, packed and unpacked. */
    uint64_t *here;
    uint32_t *here_locals;
};

gordian_status firing_view_open(struct firing_view *view, const struct packing *packing,
                                const gordian_allocator *memory, gordian_error *error);
void firing_view_close(struct firing_view *view);

/* Finds the enabled firings. False: out of memory. */
bool firing_view_find(struct firing_view *view, const uint64_t *state);

/* Counts the joint firings; UINT64_MAX: that many or more. False: out of memory. */
bool firing_view_count(struct firing_view *view, uint64_t *count);

/* Calls `take` for every joint firing, or for every enabled one if `indivisible`. view->to and
 * view->label describe it. Stops when `take` returns false. Returns false if it did, or if memory
 * ran out (*memory). */
bool firing_view_each(struct firing_view *view, const uint64_t *state, bool indivisible,
                      bool (*take)(void *context, const struct firing_view *view), void *context,
                      bool *memory);
