/*
 * Change log of a system: the last events and what each changed in the graph, in a ring buffer. The
 * event stream of the web page and the replays of incidents use it. Applied forwards, it brings a
 * graph up to date; applied backwards, it restores an earlier graph.
 *
 * Items are numbered from 0. The ring holds those from recent_first() up to `written`.
 */
#pragma once

#include "foundation/base/json/json_write.h"
#include "foundation/base/memory.h"

enum recent_kind {
    RECENT_EVENT = 1, /* an event; its changes follow */
    RECENT_ADD_WAIT,
    RECENT_DROP_WAIT,
    RECENT_ADD_HOLD,
    RECENT_DROP_HOLD,
    RECENT_OTHER, /* names, units or claims have changed: fetch the graph again */
};

struct recent_item {
    uint8_t kind;   /* enum recent_kind */
    uint8_t op;     /* of an event: gordian_op */
    uint8_t result; /* of an event: gordian_outcome or gordian_verdict */
    bool await;     /* of a change: the resource is an await */
    uint32_t process;
    union {
        uint64_t at;       /* of an event: ms since 1970 */
        uint32_t resource; /* of a change */
    };
    union {
        uint64_t seq; /* of an event */
        uint64_t units;
    };
};

#define RECENT_MAX (1u << 16) /* items: a power of two */

struct recent {
    struct recent_item *items;
    uint32_t room; /* capacity: a power of two, at most RECENT_MAX; 0 before the first item */
    uint64_t written;
};

void recent_free(struct recent *recent, const gordian_allocator *memory);

/* Enlarges a full ring, up to RECENT_MAX. To be called now and then. Without memory the ring keeps
 * its size. */
void recent_grow(struct recent *recent, const gordian_allocator *memory);

static inline uint64_t recent_first(const struct recent *recent)
{
    return recent->written > recent->room ? recent->written - recent->room : 0;
}

static inline const struct recent_item *recent_at(const struct recent *recent, uint64_t number)
{
    return &recent->items[number & (recent->room - 1)];
}

/* If the ring has no memory at all, the item is only counted. */
static inline void recent_put(struct recent *recent, struct recent_item item)
{
    if (recent->room)
        recent->items[recent->written & (recent->room - 1)] = item;
    recent->written++;
}

static inline void recent_change(struct recent *recent, enum recent_kind kind, uint32_t process,
                                 uint32_t resource, uint64_t units)
{
    recent_put(recent, (struct recent_item){
                           .kind = (uint8_t)kind,
                           .process = process,
                           .resource = resource,
                           .units = units,
                       });
}

static inline bool recent_is_change(const struct recent_item *item)
{
    return item->kind >= RECENT_ADD_WAIT && item->kind <= RECENT_DROP_HOLD;
}

/* A change as ["+w",process,resource,units]; of an await as ["+w",process,resource,units,1]. */
void recent_json(struct json *json, const struct recent_item *item);
