/* Builds an incident (records/incident.h defines the format). */
#pragma once

#include "sources/run/state/arena.h"
#include "sources/run/threads/observed_wait.h"

/* Arrays that grow in the arena. When memory runs out, `failed` is set and all calls do nothing, so
 * callers check once, at the end. */
struct incident_builder {
    struct arena *arena;
    gordian_allocator memory;
    bool failed;
    struct incident header;
    struct incident_thread *threads;
    struct thread **records; /* parallel to threads; NULL: not a thread of this process */
    size_t thread_count, thread_room, record_room;
    struct incident_lock *locks;
    size_t lock_count, lock_room;
    struct incident_edge *edges;
    size_t edge_count, edge_room;
    struct incident_order *orders;
    size_t order_count, order_room;
    struct incident_fold *folds;
    size_t fold_count, fold_room;
    uint64_t *words;
    size_t word_count, word_room;
    char *strings;
    size_t string_bytes, string_room;
};

void builder_open(struct incident_builder *builder, struct arena *arena, uint32_t kind);

uint32_t builder_string(struct incident_builder *builder, const char *text);
uint32_t builder_frames(struct incident_builder *builder, const uintptr_t *frames, uint32_t count);
/* Returns the index of a thread, which is added if necessary. */
uint32_t builder_thread(struct incident_builder *builder, struct thread *t, uint32_t flags);
/* The same for a thread that has ended, or belongs to another process. */
uint32_t builder_stranger(struct incident_builder *builder, uint32_t tid, const char *name,
                          uint32_t flags);
/* Returns the index of a lock, which is added if necessary; for a join `address` is the pthread_t.
 */
uint32_t builder_lock(struct incident_builder *builder, uintptr_t address, uint32_t kind,
                      uint32_t through);
/* Returns the index of the edge. */
uint32_t builder_edge(struct incident_builder *builder, const struct incident_edge *edge);
/* Adds the wait of a thread as an edge, and fills the thread's `wait`. */
uint32_t builder_wait(struct incident_builder *builder, const struct observed_wait *look,
                      uint32_t flags);
/* Adds a hold of a thread as an edge. */
uint32_t builder_hold(struct incident_builder *builder, uint32_t thread, const struct held *hold,
                      uint32_t flags);
/* Adds all other holds of a thread as edges. */
void builder_holds(struct incident_builder *builder, struct thread *t);
void builder_order(struct incident_builder *builder, const struct incident_order *order);
void builder_fold(struct incident_builder *builder, const struct incident_fold *fold);

/* Writes everything, including stacks and maps, to a new unnamed file; -1: failed. The file offset
 * is at the start. */
int builder_write(struct incident_builder *builder);
/* As builder_write, but writes to an existing file. */
bool builder_write_to(struct incident_builder *builder, int fd);
