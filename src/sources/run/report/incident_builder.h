/* An incident being put together (records/incident.h has the format). */
#pragma once

#include "sources/run/state/arena.h"
#include "sources/run/threads/observed_wait.h"

/* Arrays that grow in the arena. When there is no more room `failed` is set and everything else is
 * a no-op, so callers check once, at the end. */
struct incident_builder {
    struct arena *arena;
    gordian_allocator memory;
    bool failed;
    struct incident header;
    struct incident_thread *threads;
    struct thread **records; /* beside threads; NULL: not of this process any more */
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
/* The index of a thread, made on first use. */
uint32_t builder_thread(struct incident_builder *builder, struct thread *t, uint32_t flags);
/* Of one that has ended, or is not ours. */
uint32_t builder_stranger(struct incident_builder *builder, uint32_t tid, const char *name,
                          uint32_t flags);
/* The index of a lock, made on first use; for a join `address` is the pthread_t. */
uint32_t builder_lock(struct incident_builder *builder, uintptr_t address, uint32_t kind,
                      uint32_t through);
/* The edge's index. */
uint32_t builder_edge(struct incident_builder *builder, const struct incident_edge *edge);
/* The wait of a thread, as an edge; fills the thread's `wait` too. */
uint32_t builder_wait(struct incident_builder *builder, const struct observed_wait *look,
                      uint32_t flags);
/* A hold of a thread, as an edge. */
uint32_t builder_hold(struct incident_builder *builder, uint32_t thread, const struct held *hold,
                      uint32_t flags);
/* Everything a thread holds that is not an edge yet. */
void builder_holds(struct incident_builder *builder, struct thread *t);
void builder_order(struct incident_builder *builder, const struct incident_order *order);
void builder_fold(struct incident_builder *builder, const struct incident_fold *fold);

/* Writes it all, stacks and maps included, to a new file without a name; -1: cannot. The file is at
 * its start. */
int builder_write(struct incident_builder *builder);
/* The same to a file that is there. */
bool builder_write_to(struct incident_builder *builder, int fd);
