/*
 * Most events request or release one unit of a resource that has one. A single function decides
 * such an event in all three places that apply events. Each place looks up the state where it is
 * stored: in the graph (events.c), in cached pointers to the graph's arrays (fast_path.c), or in
 * the words of a shared system (shared.c).
 */
#pragma once

#include "engines/rag/rag.h"

#define RARELY(condition) __builtin_expect((condition), 0)
#define ALWAYS_INLINE     inline __attribute__((always_inline))

enum one_unit {
    ONE_UNIT_OTHER, /* another kind of event, or one to refuse: events.c has the rules */
    ONE_UNIT_GRANT,
    ONE_UNIT_WAIT,
    ONE_UNIT_RELEASE,
};

/* `asks`: the event is a request. `waits`: its process waits, or does not exist. `holder`: the
 * holder of the resource; NONE: the resource is free; RAG_REMOVED: there is no such resource, or it
 * cannot be decided here. */
static ALWAYS_INLINE enum one_unit one_unit_decide(const gordian_event *event, bool asks,
                                                   bool waits, uint32_t holder)
{
    if (RARELY(waits | (event->units != 1) | (event->wants != NULL)))
        return ONE_UNIT_OTHER;
    if (asks)
        return holder == NONE                  ? ONE_UNIT_GRANT
               : RARELY(holder == RAG_REMOVED) ? ONE_UNIT_OTHER
                                               : ONE_UNIT_WAIT;
    return RARELY(event->op != GORDIAN_OP_RELEASE || holder != event->process || event->to != NONE)
               ? ONE_UNIT_OTHER
               : ONE_UNIT_RELEASE;
}
