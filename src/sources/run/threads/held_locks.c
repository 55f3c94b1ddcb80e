#include "sources/run/threads/held_locks.h"

#include "sources/run/locks/lock_order.h"
#include "sources/run/locks/lock_registry.h"
#include "sources/run/state/arena.h"
#include "sources/run/state/message.h"

#include <string.h>

bool held_grow(struct thread *t)
{
    if (atomic_load_explicit(&watch.state, memory_order_relaxed) != WATCH_ON)
        return false;
    size_t room = t->room * 2;
    struct held *grown = room > t->room ? pages_map(room) : NULL;
    if (!grown) {
        watch_off("out of memory");
        return false;
    }
    memcpy(grown, t->held, t->room);
    /* The old array stays, since other threads may read it. They read `room` first. */
    __atomic_store_n(&t->held, grown, __ATOMIC_RELEASE);
    __atomic_store_n(&t->room, room, __ATOMIC_RELEASE);
    return true;
}

uint32_t others_holds(const struct thread *t, const struct held **held)
{
    size_t room = __atomic_load_n(&t->room, __ATOMIC_ACQUIRE);
    size_t used = __atomic_load_n(&t->used, __ATOMIC_RELAXED);
    *held = __atomic_load_n(&t->held, __ATOMIC_ACQUIRE);
    return (uint32_t)((used < room ? used : room) / sizeof **held);
}

static inline uint64_t mix_signature(uint64_t below, uintptr_t lock)
{
    uint64_t hash = (below + 0x9e3779b97f4a7c15u) ^ lock;
    hash *= 0xd6e8feb86659fd93u;
    return hash ^ (hash >> 29);
}

/* A thread that takes a lock it seems to hold: another thread has released it. Removes the old
 * hold. */
static uint32_t drop_stale(struct thread *t, uint32_t place, uintptr_t lock)
{
    bool stray = t->held[place].mode == INCIDENT_EXCLUSIVE && lock_flags(lock) & LOCK_STRAY;
    for (uint32_t i = 0; i < place && stray; i++)
        if (t->held[i].lock == lock) {
            held_drop(t, i);
            return place - 1;
        }
    return place;
}

void held_new(struct thread *t, size_t at, uintptr_t lock, struct site site)
{
    uint32_t place = (uint32_t)(at / sizeof(struct held));
    bool other = t->held[place].lock != lock;
    if (other)
        t->held[place].lock = lock; /* at once: the field shows what was last held at this index */
    if (unlikely(atomic_load_explicit(&watch.strays, memory_order_relaxed)) && place)
        place = drop_stale(t, place, lock);
    struct held *h = &t->held[place];
    if (watch.sites && h->frame[0] != site.caller)
        h->frames = (uint8_t)walk_anew(t, h->frame, watch.sites, site_of_caller(site));
    if (other) {
        locks_count(lock);
        order_frame(t, site.frame);
    }
    h->below = place ? h[-1].chain : 0;
    h->chain = mix_signature(h->below, lock + h->mode);
    h->order = atomic_load_explicit(&watch.order_epoch, memory_order_relaxed);
    if (h->flags & INCIDENT_TRIED)
        h->order--; /* not checked: if it is taken without a try later, that is a new hold */
    if (place && watch.potential && !(h->flags & INCIDENT_TRIED) && h->kind != INCIDENT_SEMAPHORE)
        order_look(t, place);
}

void held_elsewhere(struct thread *t, uintptr_t lock, uint64_t what, struct site site)
{
    struct held *h = hold_place(t);
    if (!h)
        return;
    size_t at = t->used;
    t->used = at + sizeof *h;
    h->what = what;
    h->frame[0] = 0; /* of another hold: walk again */
    held_new(t, at, lock, site);
}

uint32_t held_find(const struct thread *t, uintptr_t lock)
{
    for (uint32_t i = holds_of(t); i-- > 0;)
        if (t->held[i].lock == lock)
            return i;
    return UINT32_MAX;
}

/* Removal of a hold from the list. */
struct drop {
    struct thread *thread;
    volatile uint32_t at; /* the index that is being filled from the next one */
    uint32_t last;
    uint32_t inside; /* value of `inside` before */
};

/* Each step may be repeated, so that this also works as an undo handler. */
static void finish_drop(void *context)
{
    struct drop *drop = context;
    struct thread *t = drop->thread;
    for (; drop->at < drop->last; drop->at++) {
        struct held *h = &t->held[drop->at];
        memcpy(h, h + 1, offsetof(struct held, frame) + h[1].frames * sizeof *h->frame);
        h->below = drop->at ? h[-1].chain : 0;
        h->chain = mix_signature(h->below, h->lock + h->mode);
    }
    t->used = drop->last * sizeof(struct held);
    t->inside = drop->inside;
}

/* Locks taken later move down: they are held under fewer locks from now on. A post in a signal
 * handler must not meet holds that are being moved, so it goes to libc unobserved. */
void held_drop(struct thread *t, uint32_t i)
{
    struct drop drop = {t, i, holds_of(t) - 1, t->inside};
    struct undo undo;
    if (i == drop.last) {
        t->used -= sizeof(struct held);
        return;
    }
    undo_push(&undo, finish_drop, &drop);
    t->inside++;
    finish_drop(&drop);
    undo_pop(&undo);
    inside_left(t);
}

bool held_drop_below(struct thread *t, uintptr_t lock)
{
    uint32_t i = held_find(t, lock);
    if (i == UINT32_MAX)
        return false;
    if (t->held[i].units > 1)
        t->held[i].units--;
    else
        held_drop(t, i);
    /* Semaphores that were posted in a handler, which cannot move holds (wrappers/semaphore.c). */
    for (const struct held *last; (last = held_last(t)) && last->units == 0;)
        t->used -= sizeof *last;
    return true;
}
