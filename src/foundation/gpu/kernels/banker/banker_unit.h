/* Units of 32 or 64 bits (UNIT_BITS), and entries of an order: a process and its need; sorted by
 * both, so that no two are equal. */
#pragma once

#include "foundation/gpu/kernels/banker/banker.h"
#include "foundation/gpu/language/kernel.h"

#define SPAN BANKER_SPAN

#if UNIT_BITS == 32

typedef uint32_t unit;
typedef uint64_t entry;
typedef uint4 group; /* units moved at a time */

#define GROUP               4u
#define atomic_add_unit     atomic_add32
#define BANKER_KERNEL(name) banker_##name##32

DEVICE entry make_entry(unit need, uint32_t process)
{
    return (entry)need << 32 | process;
}

DEVICE unit entry_need(entry x)
{
    return (unit)(x >> 32);
}

DEVICE uint32_t entry_process(entry x)
{
    return (uint32_t)x;
}

DEVICE bool entry_less(entry x, entry y)
{
    return x < y;
}

/* Counts the needs that exceed the work. */
DEVICE uint32_t exceeding(group need, group work)
{
    return (uint32_t)(need.x > work.x) + (need.y > work.y) + (need.z > work.z) + (need.w > work.w);
}

typedef uint64_t span; /* SPAN units of a row */

DEVICE void add_span(unit *to, span x)
{
    to[0] += (unit)x;
    to[1] += (unit)(x >> 32);
}

#else

typedef uint64_t unit;
typedef ulonglong2 entry;
typedef ulonglong2 group;

#define GROUP               2u
#define atomic_add_unit     atomic_add64
#define BANKER_KERNEL(name) banker_##name##64

DEVICE entry make_entry(unit need, uint32_t process)
{
    entry x;
    x.x = need;
    x.y = process;
    return x;
}

DEVICE unit entry_need(entry x)
{
    return x.x;
}

DEVICE uint32_t entry_process(entry x)
{
    return (uint32_t)x.y;
}

DEVICE bool entry_less(entry x, entry y)
{
    return x.x < y.x || (x.x == y.x && x.y < y.y);
}

DEVICE uint32_t exceeding(group need, group work)
{
    return (uint32_t)(need.x > work.x) + (need.y > work.y);
}

typedef ulonglong2 span;

DEVICE void add_span(unit *to, span x)
{
    to[0] += x.x;
    to[1] += x.y;
}

#endif

#ifdef __CUDACC__
#define UNROLL     _Pragma("unroll")
#define UNROLL_BY4 _Pragma("unroll 4")
#else
#define UNROLL
#define UNROLL_BY4
#endif
