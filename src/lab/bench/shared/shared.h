/* Shared by the files of `bench shared`. */
#pragma once

#include "lab/bench/harness/harness.h"
#include "sources/gen/gen.h"

#include <pthread.h>

/* Adds its rows. */
gordian_status shared_hot_rows(struct bench *bench);

/* Opens a system with this many processes, and resources of one unit. */
gordian_status shared_system(gordian_system **system, bool shared, uint32_t processes,
                             uint32_t resources, const gordian_allocator *memory,
                             gordian_error *error);

/* The baseline: a lock table of exclusive rows, first come first served, and a wait-for graph, all
 * behind one mutex. An edge leads from a waiter to the holder of its row. It works like lock
 * managers with such a graph: a new waiter adds its edge and checks with a depth-first search
 * whether the edge closes a cycle. When a row changes hands, the edges of its remaining waiters are
 * moved to the new holder, with a search for each. */
struct waits;

struct waits *waits_open(uint32_t processes, uint32_t rows);
void waits_close(struct waits *waits); /* NULL is fine */
/* GORDIAN_OUTCOME_GRANTED, _BLOCKED or _DEADLOCK. */
gordian_outcome waits_request(struct waits *waits, uint32_t process, uint32_t row);
/* Returns the process that gets the row; GORDIAN_NONE: no process waits for it. */
uint32_t waits_release(struct waits *waits, uint32_t process, uint32_t row);
/* Sleeps until the process no longer waits. */
void waits_await(struct waits *waits, uint32_t process);
