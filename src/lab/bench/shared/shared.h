/* The parts of `bench shared`, and what they share. */
#pragma once

#include "lab/bench/harness/harness.h"
#include "sources/gen/gen.h"

#include <pthread.h>

/* Adds its rows. */
gordian_status shared_hot_rows(struct bench *bench);

/* A system with so many processes and resources of one unit. */
gordian_status shared_system(gordian_system **system, bool shared, uint32_t processes,
                             uint32_t resources, const gordian_allocator *memory,
                             gordian_error *error);

/* The baseline: a lock table of exclusive rows, first come first served, and a graph of who waits
 * for whom, all behind one mutex. An edge leads from whoever waits to the holder of its row. As
 * lock managers do it that keep such a graph: whoever has to wait adds its edge and looks with a
 * depth-first search whether it leads back; when a row changes hands the edges of all who still
 * wait for it are taken away and put to the new holder, each with a search. */
struct waits;

struct waits *waits_open(uint32_t processes, uint32_t rows);
void waits_close(struct waits *waits); /* NULL is fine */
/* GORDIAN_OUTCOME_GRANTED, _BLOCKED or _DEADLOCK. */
gordian_outcome waits_request(struct waits *waits, uint32_t process, uint32_t row);
/* Who gets the row; GORDIAN_NONE: nobody waits for it. */
uint32_t waits_release(struct waits *waits, uint32_t process, uint32_t row);
/* Sleeps until the process does not wait any more. */
void waits_await(struct waits *waits, uint32_t process);
