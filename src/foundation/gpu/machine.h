/*
 * The kernel emulator: runs kernels as plain C on the CPU.
 *
 * Each kernel thread is a fiber. A *machine* is a set of fibers with a queue of the runnable ones;
 * one host thread runs one launch at a time on it. The blocks of a plain launch run one after
 * another (a few at a time when the schedule is shuffled), the blocks of a cooperative launch run
 * all at the same time. A thread runs until it meets a barrier, a warp operation or a step that may
 * belong to a waiting loop (language/kernel_emulated.h).
 *
 * A launch fails, instead of hanging, when no thread can run (a barrier that not all threads reach,
 * a warp operation whose lanes do not meet), or when the threads do nothing for a long time except
 * read values that do not change.
 */
#pragma once

#include "foundation/base/memory.h"
#include "foundation/base/random.h"
#include "foundation/gpu/fiber.h"
#include "foundation/gpu/language/kernel.h"

#include <stdatomic.h>

/* The emulated device: small, so that a grid barrier over all of it is fast. */
#define EMULATED_MULTIPROCESSORS 4u
#define EMULATED_THREADS         1024u /* of a multiprocessor */
#define EMULATED_BLOCKS          16u   /* of a multiprocessor */
#define EMULATED_SHARED          (227u << 10)
#define EMULATED_GARBAGE         0xc5 /* the content of memory before the first write */

enum emulated_state {
    EMULATED_READY,
    EMULATED_IN_WARP,    /* waits for its warp */
    EMULATED_IN_BARRIER, /* waits for its block */
    EMULATED_RETURNED,
};

struct emulated_seen {
    const volatile void *at;
    uint64_t value;
};

struct emulated_lane {
    struct emulated_thread self; /* first member: what emulated_thread points to */
    enum emulated_state state;
    struct emulated_machine *machine;
    struct emulated_block *block;
    struct fiber *fiber;
    /* its warp operation */
    enum emulated_warp_operation operation;
    uint32_t mask, lane;
    uint64_t value; /* argument, then result */
    struct emulated_seen seen[4];
};

struct emulated_array {
    const void *declaration;
    void *content;
};

struct emulated_block {
    struct emulated_lane *lanes;
    uint32_t threads;
    uint32_t live;    /* threads that have not returned */
    uint32_t arrived; /* at the barrier */
    uint32_t votes;   /* threads at the barrier that voted */
    uint32_t result;  /* votes at the previous barrier */
    void *dynamic;
    struct emulated_array arrays[24];
    unsigned array_count;
    size_t shared_bytes;
};

struct emulated_machine {
    gordian_allocator memory;
    struct fiber host;
    struct fiber *fibers; /* one for each thread of the largest set of resident blocks so far */
    struct emulated_lane *lanes; /* one for each fiber */
    struct emulated_lane **ready;
    size_t room;
    size_t ready_head, ready_count; /* a ring of `room` */
    struct emulated_block *blocks;  /* resident ones */
    size_t block_room;
    uint32_t resident;    /* blocks that run */
    struct random random; /* for shuffling */
    bool shuffled;
    uint64_t idle; /* steps since the last change */
    const struct machine_launch *launch;
    atomic_bool stop; /* set by another thread: stop the service */
    gordian_status failure;
    char message[200];
};

struct machine_launch {
    const char *name;
    const struct emulated_kernel *kernel;
    uint32_t blocks, threads;
    size_t shared;
    bool cooperative, service;
    uint64_t seed;
    const void *arguments; /* aligned as malloc does */
};

void machine_init(struct emulated_machine *machine, const gordian_allocator *memory);
void machine_free(struct emulated_machine *machine);
/* Reserves memory for `threads` at a time. Returns false if out of memory. */
bool machine_reserve(struct emulated_machine *machine, uint32_t blocks, uint32_t threads);
/* Returns the largest number of blocks of this launch that are resident at a time. */
uint32_t machine_window(const struct machine_launch *launch);
/* Runs a launch to its end or failure: machine->failure and machine->message. Memory for
 * machine_window(launch) blocks must be reserved. */
void machine_run(struct emulated_machine *machine, const struct machine_launch *launch);

/* Returns how many such blocks fit the emulated device at a time, within each multiprocessor's
 * limits. */
unsigned emulated_resident(unsigned threads, size_t shared);

/* ---- between machine.c and emulator_operations.c */

/* Appends a thread to the queue of runnable threads. */
void machine_ready(struct emulated_machine *machine, struct emulated_lane *lane);
/* Lets other threads run until this one is taken from the queue. */
void machine_yield(struct emulated_lane *lane);
/* This thread has returned: releases the threads that wait for it. */
void machine_returned(struct emulated_lane *lane);
/* Notes why the launch fails. machine_abandon then ends it. */
void machine_fault(struct emulated_machine *machine, gordian_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void machine_abandon(struct emulated_lane *lane) __attribute__((noreturn));
