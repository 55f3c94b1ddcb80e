/* Generators: traces, snapshots and circuits of any size from a random seed. The output is the same
 * on every machine.
 *
 * A generator writes a stream of declarations and events into a sink. Two sinks exist: text
 * (gen_write, the trace format) and memory (gen_events). The state of the generated system bounds
 * the memory; the number of events does not. The shapes (chain, ring, chains, forest) need no
 * memory for state and reach any size.
 *
 *    struct gen_options options;
 *    gen_options_init(&options);
 *    options.kind = "random";
 *    options.processes = 1000;
 *    status = gen_write(&options, &out, &error); */
#pragma once

#include "foundation/base/io/output.h"

#include <gordian/gordian.h>

/* A size of 0 means the kind's default. Setting an option that the kind does not use is an error,
 * except to its default value. */
struct gen_options {
    const char *kind;
    uint64_t seed;
    uint32_t processes;
    uint32_t resources;
    uint64_t events;     /* kinds that simulate: the number of events. There are fewer only if all
                            processes are deadlocked and there are no cancels and exits. */
    uint32_t units;      /* units of each resource; the maximum, where units are drawn at random */
    uint32_t length;     /* chains: processes in each chain */
    uint64_t cycles;     /* chains: how many chains are closed to a ring */
    unsigned contention; /* percent of the requests that aim at a resource without free units;
                            forest: percent of the processes that wait */
    unsigned cancels;    /* percent of the steps at which a process cancels its pending request */
    unsigned exits;      /* percent of the steps at which a process exits */
    unsigned hand_overs; /* percent of the releases that hand over to a named waiter */
    unsigned changes;    /* percent of the steps at which a process changes its claim */
    bool queue;          /* kinds with claims: for a replay in which requests are queued */
    unsigned deadlocks;  /* percent of the deadlocks that stay; else the requester cancels */
    bool snapshot;       /* write the final state as hold and wait lines instead of events */
    uint32_t tensor, pipeline, expert; /* collectives: ranks in each group of this kind */
    const char *fault;                 /* collectives: the injected fault; NULL: drawn at random */
    const char *folder;                /* collectives: where dumps go; NULL: only the result */
    bool json;                         /* collectives: write dumps as JSON, not as pickles */
    const char *order; /* chain: "tail" (default), each new process blocks behind the blocked ones;
                          "head", the far end recedes; "random" */
};

/* Sets every option to its default: kind "random", seed 1. */
void gen_options_init(struct gen_options *options);
struct gen_options gen_options_of(const char *kind, uint64_t seed, uint32_t processes);

struct gen_sink;

struct gen_kind {
    const char *name;
    const char *summary; /* one line */
    const char *uses; /* the options that the kind uses, separated by blanks: "processes order" */
    const char *process;  /* prefix of process names: p0, p1, ... */
    const char *resource; /* prefix of resource names */
    uint32_t processes;   /* defaults; 0 resources: as many as processes */
    uint32_t resources;
    uint64_t events;
    uint32_t units;
    const char *order;
    bool claims; /* for avoidance: processes declare their claims first */
    /* Writes the stream. The options have been checked and defaults are filled in. */
    gordian_status (*stream)(const struct gen_options *options, struct gen_sink *sink,
                             gordian_error *error);
    /* For kinds that write text instead of a stream of events, for example circuits. `stream` is
     * then NULL, or for snapshots only. */
    gordian_status (*write)(const struct gen_options *options, struct output *out,
                            gordian_error *error);
};

/* All kinds. The last entry has the name NULL. */
extern const struct gen_kind gen_kinds[];

/* Writes a trace or a snapshot as text. Returns GORDIAN_STATUS_INPUT, and writes nothing, if an
 * option is invalid. A failed write sets out->failure and returns GORDIAN_STATUS_IO. */
gordian_status gen_write(const struct gen_options *options, struct output *out,
                         gordian_error *error);

/* Writes a packed snapshot, like gordian_convert of the text. Requires options->snapshot. Returns
 * GORDIAN_STATUS_INPUT like gen_write. */
gordian_status gen_pack(const struct gen_options *options, const gordian_writer *writer,
                        gordian_error *error);

/* An event on one resource, without a hand-over. */
static inline gordian_event gen_event(gordian_op op, uint32_t process, uint32_t resource,
                                      uint64_t units)
{
    return (gordian_event){
        .op = op, .process = process, .resource = resource, .to = GORDIAN_NONE, .units = units};
}

/* A trace in memory. Processes are 0 .. processes-1, resources are 0 .. resources-1. */
struct gen_trace {
    uint32_t processes;
    uint32_t resources;
    uint64_t *units; /* of each resource */
    gordian_event *events;
    size_t event_count;
    gordian_want *wants; /* the events' `wants` point into it */
};

/* Fills *trace; gen_trace_free frees it. On failure *trace is empty. */
gordian_status gen_events(const struct gen_options *options, struct gen_trace *trace,
                          gordian_error *error);
void gen_trace_free(struct gen_trace *trace);

/* The sink of a generator. `begin` is called once, then `event` for every event, which is valid
 * during the call only. `units[q]` is the number of units of resource q; if `units` is NULL, each
 * resource has `units_each`. A call that does not return GORDIAN_OK ends the stream with that
 * status. */
struct gen_sink {
    void *context;
    gordian_status (*begin)(void *context, uint32_t processes, uint32_t resources,
                            const uint64_t *units, uint64_t units_each, gordian_error *error);
    gordian_status (*event)(void *context, const gordian_event *event, gordian_error *error);
    /* Sets the claim of a process, at the start or later. With this, one release may name several
     * resources. NULL: the sink refuses kinds with claims. */
    gordian_status (*claim)(void *context, uint32_t process, const gordian_want *claims,
                            size_t count, gordian_error *error);
};

gordian_status gen_stream(const struct gen_options *options, struct gen_sink *sink,
                          gordian_error *error);
