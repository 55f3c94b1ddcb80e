/*
 * Traces, snapshots and circuits of any size from a seed: the same bytes on every machine.
 *
 * A generator is a stream of declarations and events into a sink. Two sinks come with it:
 * text (gen_write, the trace format) and memory (gen_events). Memory is bounded by the state of
 * the system generated, not by the number of events; the shapes (chain, ring, chains, forest)
 * need none at all and reach any size.
 *
 *     struct gen_options options;
 *     gen_options_init(&options);
 *     options.kind = "random";
 *     options.processes = 1000;
 *     status = gen_write(&options, &out, &error);
 */
#pragma once

#include "foundation/base/io/output.h"

#include <gordian/gordian.h>

/* 0 in a size means: the kind's own default. Setting what the kind does not use is an error,
 * except to its default. */
struct gen_options {
    const char *kind;
    uint64_t seed;
    uint32_t processes;
    uint32_t resources;
    uint64_t events;     /* kinds that simulate: how many; they end earlier only when everybody is
                            deadlocked and nobody cancels or exits */
    uint32_t units;      /* of a resource; of every resource at most, where drawn at random */
    uint32_t length;     /* chains: processes in each */
    uint64_t cycles;     /* chains: how many of them are closed to a ring */
    unsigned contention; /* percent of the requests that aim at what is taken; forest: percent of
                            the processes that wait */
    unsigned cancels;    /* percent of the steps at which somebody gives its wait up */
    unsigned exits;      /* percent of the steps at which somebody exits */
    unsigned hand_overs; /* percent of the releases that name who gets it, where somebody waits */
    unsigned changes;    /* percent of the steps at which somebody changes its claim */
    bool queue;          /* kinds with claims: for a replay in which requests wait */
    unsigned deadlocks;  /* percent of the deadlocks left standing; else the requester cancels */
    bool snapshot;       /* the state reached, as hold and wait lines, instead of events */
    uint32_t tensor, pipeline, expert; /* collectives: ranks in such groups */
    const char *fault;                 /* collectives: what goes wrong; NULL: drawn */
    const char *folder;                /* collectives: where the dumps go; NULL: only the truth */
    bool json;                         /* collectives: dumps as JSON, not as pickles */
    const char *order; /* chain: "tail" (default), each new process blocks behind the blocked
                          ones; "head", the far end recedes; "random" */
};

/* Every option at its default: kind "random", seed 1. */
void gen_options_init(struct gen_options *options);
struct gen_options gen_options_of(const char *kind, uint64_t seed, uint32_t processes);

struct gen_sink;

struct gen_kind {
    const char *name;
    const char *summary;  /* one line */
    const char *uses;     /* the options it looks at, blank-separated: "processes order" */
    const char *process;  /* names are this and a number: p0, p1, ... */
    const char *resource; /* likewise */
    uint32_t processes;   /* defaults; resources 0: as many as processes */
    uint32_t resources;
    uint64_t events;
    uint32_t units;
    const char *order;
    bool claims; /* for avoidance: processes say first what they may come to want */
    /* Streams, given options that have been checked and have no defaults left. */
    gordian_status (*stream)(const struct gen_options *options, struct gen_sink *sink,
                             gordian_error *error);
    /* Kinds that are texts and no streams of events: circuits. `stream` is NULL then, or for
     * snapshots only. */
    gordian_status (*write)(const struct gen_options *options, struct output *out,
                            gordian_error *error);
};

/* All kinds; name NULL at the end. */
extern const struct gen_kind gen_kinds[];

/* Writes a trace or snapshot as text. GORDIAN_STATUS_INPUT: an option that makes no sense, nothing
 * is written then. A failing write shows in out->failure, and as GORDIAN_STATUS_IO. */
gordian_status gen_write(const struct gen_options *options, struct output *out,
                         gordian_error *error);

/* Writes a snapshot packed, as gordian_convert would the text. Only where options->snapshot is set.
 * GORDIAN_STATUS_INPUT as above. */
gordian_status gen_pack(const struct gen_options *options, const gordian_writer *writer,
                        gordian_error *error);

/* Of one resource, handed over to nobody. */
static inline gordian_event gen_event(gordian_op op, uint32_t process, uint32_t resource,
                                      uint64_t units)
{
    return (gordian_event){
        .op = op, .process = process, .resource = resource, .to = GORDIAN_NONE, .units = units};
}

/* A trace in memory. Processes are 0 .. processes-1, resources 0 .. resources-1. */
struct gen_trace {
    uint32_t processes;
    uint32_t resources;
    uint64_t *units; /* of each resource */
    gordian_event *events;
    size_t event_count;
    gordian_want *wants; /* what the events' `wants` point into */
};

/* Fills *trace, which gen_trace_free frees; on failure it is empty. */
gordian_status gen_events(const struct gen_options *options, struct gen_trace *trace,
                          gordian_error *error);
void gen_trace_free(struct gen_trace *trace);

/* Where a generator's stream goes: `begin` once, then every event (valid during the call only).
 * `units[q]` are those of every resource; NULL: each has `units_each`. What a call returns other
 * than GORDIAN_OK ends the stream and becomes its status. */
struct gen_sink {
    void *context;
    gordian_status (*begin)(void *context, uint32_t processes, uint32_t resources,
                            const uint64_t *units, uint64_t units_each, gordian_error *error);
    gordian_status (*event)(void *context, const gordian_event *event, gordian_error *error);
    /* A process says what it claims, at the start or later on; several resources may be released
     * at once. NULL: kinds that do this are refused. */
    gordian_status (*claim)(void *context, uint32_t process, const gordian_want *claims,
                            size_t count, gordian_error *error);
};

gordian_status gen_stream(const struct gen_options *options, struct gen_sink *sink,
                          gordian_error *error);
