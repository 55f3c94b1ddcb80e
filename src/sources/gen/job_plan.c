/* Creates the programs of a job's stages: one forward, one backward (1F1B), as in pipeline parallel
 * training. */
#include "sources/gen/job.h"

#include "foundation/base/error.h"

#include <string.h>

const char *const fault_names[] = {"none", "absent", "silent", "stuck", "operation",
                                   "size", "order",  "ring",   NULL};

#define STEPS        2
#define MICROBATCHES 3
#define LAYERS       2

uint32_t job_groups(const struct gen_job *job, enum group_kind kind)
{
    return job->ranks / job_members(job, kind);
}

uint32_t job_members(const struct gen_job *job, enum group_kind kind)
{
    const uint32_t members[] = {job->ranks, job->tensor, job->pipeline, job->data, job->expert};
    return members[kind];
}

uint32_t job_group(const struct gen_job *job, enum group_kind kind, uint32_t rank)
{
    uint32_t wide = job->tensor * job->data;
    switch (kind) {
    case GROUP_TENSOR:
        return rank / job->tensor;
    case GROUP_PIPELINE:
        return rank % wide;
    case GROUP_DATA:
        return job_stage(job, rank) * job->tensor + rank % job->tensor;
    case GROUP_EXPERT:
        return rank / job->expert;
    default:
        return 0;
    }
}

uint32_t job_member(const struct gen_job *job, enum group_kind kind, uint32_t group, uint32_t at)
{
    uint32_t wide = job->tensor * job->data;
    switch (kind) {
    case GROUP_TENSOR:
        return group * job->tensor + at;
    case GROUP_PIPELINE:
        return at * wide + group;
    case GROUP_DATA:
        return group / job->tensor * wide + at * job->tensor + group % job->tensor;
    case GROUP_EXPERT:
        return group * job->expert + at;
    default:
        return at;
    }
}

/* ------------------------------------------------------------------ writing a program */

struct writer {
    struct gen_job *job;
    struct stage *stage;
    size_t capacity;
    uint32_t place; /* of the stage */
    uint32_t sequences[GROUP_KINDS];
    bool failed;
};

static void write_call(struct writer *writer, enum call call, enum group_kind kind, int toward,
                       bool joins)
{
    struct stage *stage = writer->stage;
    bool p2p = call == CALL_SEND || call == CALL_RECV;
    if (!memory_extend(&writer->job->memory, stage->calls, writer->capacity, stage->count)) {
        writer->failed = true;
        return;
    }
    if (!joins)
        writer->sequences[kind]++;
    stage->calls[stage->count] = (struct call_plan){
        .call = (uint8_t)call,
        .kind = (uint8_t)kind,
        .toward = (int8_t)toward,
        .batch = joins ? stage->calls[stage->count - 1].batch : stage->count,
        .match = GORDIAN_NONE,
        .sequence = writer->sequences[kind],
        .elements = p2p ? 4096 : 1024u << (unsigned)call,
    };
    stage->count++;
}

static void write_layers(struct writer *writer)
{
    for (unsigned i = 0; i < LAYERS; i++) {
        write_call(writer, CALL_ALL_GATHER, GROUP_TENSOR, 0, false);
        write_call(writer, CALL_ALL_TO_ALL, GROUP_EXPERT, 0, false);
        write_call(writer, CALL_REDUCE_SCATTER, GROUP_TENSOR, 0, false);
    }
}

/* Adds a send or a receive if there is a stage in that direction. */
static bool write_transfer(struct writer *writer, enum call call, int toward, bool joins)
{
    uint32_t last = writer->job->pipeline - 1;
    if (toward > 0 ? writer->place == last : writer->place == 0)
        return false;
    write_call(writer, call, GROUP_PIPELINE, toward, joins);
    return true;
}

/* Adds a send and a receive, coalesced; or one after the other, where every second stage receives
 * first. */
static void write_both(struct writer *writer, int toward)
{
    bool receives_first = !writer->job->batches && writer->place % 2;
    enum call first = receives_first ? CALL_RECV : CALL_SEND;
    enum call second = receives_first ? CALL_SEND : CALL_RECV;
    bool written = write_transfer(writer, first, toward, false);
    write_transfer(writer, second, toward, written && writer->job->batches);
}

static void plan_step(struct writer *writer)
{
    uint32_t ahead = writer->job->pipeline - 1 - writer->place;
    uint32_t warm = ahead < MICROBATCHES ? ahead : MICROBATCHES, steady = MICROBATCHES - warm;
    for (uint32_t i = 0; i < warm; i++) {
        write_transfer(writer, CALL_RECV, -1, false);
        write_layers(writer);
        write_transfer(writer, CALL_SEND, 1, false);
    }
    if (steady)
        write_transfer(writer, CALL_RECV, -1, false);
    for (uint32_t i = 0; i < steady; i++) {
        write_layers(writer);
        write_both(writer, 1);
        write_layers(writer);
        if (i + 1 == steady)
            write_transfer(writer, CALL_SEND, -1, false);
        else
            write_both(writer, -1);
    }
    for (uint32_t i = 0; i < warm; i++) {
        write_transfer(writer, CALL_RECV, 1, false);
        write_layers(writer);
        write_transfer(writer, CALL_SEND, -1, false);
    }
    write_call(writer, CALL_REDUCE_SCATTER, GROUP_DATA, 0, false);
    if (writer->job->ranks <= JOB_WORLD_MOST)
        write_call(writer, CALL_ALL_REDUCE, GROUP_WORLD, 0, false);
    write_call(writer, CALL_ALL_GATHER, GROUP_DATA, 0, false);
}

/* Adds a ring: between the steps every rank of a pipeline receives from the next stage, around the
 * end, and then sends to the stage before. No rank sends first. Only the pipeline with the fault
 * runs it. */
static void write_ring(struct writer *writer)
{
    uint32_t before = writer->stage->count;
    write_call(writer, CALL_RECV, GROUP_PIPELINE, 1, false);
    write_call(writer, CALL_SEND, GROUP_PIPELINE, -1, false);
    for (uint32_t i = before; !writer->failed && i < writer->stage->count; i++)
        writer->stage->calls[i].ring = true;
}

/* Matches the n-th send in one direction with the n-th receive of the other side. */
static void match_transfers(struct stage *sender, struct stage *receiver, int toward)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < sender->count; i++) {
        struct call_plan *send = &sender->calls[i];
        if (send->call != CALL_SEND || send->toward != toward || send->ring)
            continue;
        while (receiver->calls[at].call != CALL_RECV || receiver->calls[at].toward != -toward ||
               receiver->calls[at].ring)
            at++;
        send->match = at;
        receiver->calls[at++].match = i;
    }
}

gordian_status plan_job(struct gen_job *job, gordian_error *error)
{
    job->stages = memory_zeroed(&job->memory, job->pipeline * sizeof *job->stages);
    if (!job->stages)
        return fail_memory(error);
    for (uint32_t p = 0; p < job->pipeline; p++) {
        struct writer writer = {.job = job, .stage = &job->stages[p], .place = p};
        for (uint32_t i = 0; i < STEPS; i++) {
            if (i > 0)
                write_ring(&writer);
            plan_step(&writer);
        }
        if (writer.failed)
            return fail_memory(error);
        job->length = writer.stage->count > job->length ? writer.stage->count : job->length;
    }
    for (uint32_t p = 0; p + 1 < job->pipeline; p++) {
        match_transfers(&job->stages[p], &job->stages[p + 1], 1);
        match_transfers(&job->stages[p + 1], &job->stages[p], -1);
    }
    return GORDIAN_OK;
}
