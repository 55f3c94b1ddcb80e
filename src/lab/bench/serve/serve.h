/*
 * `gordian bench serve` in parts: starting the services (start.c), talking to them
 * (talk.c), what is said (peer.c), and the measurements (serve.c, tls.c,
 * many.c, soak.c).
 *
 * Both services, ours and redis-server, are started here, in folders of their own beside each
 * other, on Unix sockets, and get the same treatment: the same sockets, the same buffers, the same
 * number of operations in one write. Every answer is checked: ours against a system in this
 * process that was fed the same events, redis's word for word.
 */
#pragma once

#include "lab/bench/harness/harness.h"
#include "service/wire/wire.h"
#include "sources/gen/gen.h"

#include <gordian/client.h>

#include <limits.h>
#include <sys/types.h>

/* ---- start.c */

struct service_process {
    pid_t pid; /* 0: none */
    char folder[200];
    char socket[220];
};

/* A service that keeps things as `durability` says; on failure nothing is left behind. */
gordian_status serve_start(struct service_process *process, const char *durability,
                           gordian_error *error);
/* The same in two steps, with further options (NULL at the end), and files for them put into the
 * folder in between. */
gordian_status serve_make_folder(struct service_process *process, gordian_error *error);
gordian_status serve_start_with(struct service_process *process, const char *durability,
                                const char *const *more, gordian_error *error);
/* One on PostgreSQL, in this schema. Its place stays the same if it is started again. */
gordian_status serve_start_store(struct service_process *process, const char *store,
                                 const char *schema, const char *commits, gordian_error *error);
/* redis-server with appendonly everysec; GORDIAN_STATUS_UNAVAILABLE: it is not installed. */
gordian_status serve_start_redis(struct service_process *process, gordian_error *error);
/* Stops it and removes its folder. */
void serve_stop(struct service_process *process);
/* Resident memory in bytes; 0: not known. */
uint64_t serve_memory(const struct service_process *process);

/* ---- serve_talk.c: a connection with a buffer for each way */

struct talk {
    int fd;
    unsigned char *out, *in;
    size_t out_used, out_room;
    size_t in_start, in_end, in_room;
};

gordian_status talk_open(struct talk *talk, const char *socket, gordian_error *error);
void talk_close(struct talk *talk);
/* Room for `size` more bytes to send; NULL: out of memory. Then add what was written to out_used.
 */
unsigned char *talk_room(struct talk *talk, size_t size);
gordian_status talk_flush(struct talk *talk, gordian_error *error);
/* Reads what there is, waiting for at least a byte (or not: then nothing may have come). */
gordian_status talk_fill(struct talk *talk, bool wait, gordian_error *error);

/* ---- serve_peer.c: the operations, as one of the services wants them said */

struct serve_load {
    gordian_event *events; /* a cycle: after the last one everything is as before the first */
    gordian_result *expected;
    uint32_t *served; /* what all of them serve, in order */
    size_t count, served_count;
    uint32_t process_count, resource_count;
};

gordian_status serve_load_make(struct serve_load *load, uint64_t seed, size_t count,
                               gordian_error *error);
void serve_load_free(struct serve_load *load);

#define BENCH_BATCH 4096 /* events in one frame, at most */

struct peer {
    struct talk talk;
    bool redis;
    bool one_a_frame; /* every event in a message of its own, as redis has them */
    const struct serve_load *load;
    uint64_t number; /* of the next operation */
    uint64_t taken;  /* of the next answer */
    size_t served_at;
    uint32_t process_base, resource_base; /* ids of the load's first ones */
    char tag[24];                         /* in names and keys: tells clients apart */
};

/* Connects, says hello, declares the names of the load. `tag`: other peers have others. */
gordian_status peer_open(struct peer *peer, const char *socket, bool redis,
                         const struct serve_load *load, const char *tag, gordian_error *error);
void peer_close(struct peer *peer);
/* Puts `count` operations into the buffer to send. */
gordian_status peer_put(struct peer *peer, size_t count, gordian_error *error);
/* Takes the answers that have come, checks them; *taken of them. */
gordian_status peer_take(struct peer *peer, size_t *taken, gordian_error *error);
/* `count` operations in one write, and all their answers. */
gordian_status peer_exchange(struct peer *peer, size_t count, gordian_error *error);
/* redis: does it have what it was given? */
gordian_status peer_verify(struct peer *peer, gordian_error *error);

/* ---- serve_library.c: the same load through the client library */

struct library {
    gordian_client *client;
    const struct serve_load *load;
    uint32_t *ids;
    uint64_t number, taken;
    size_t operations; /* of one sample of the stream */
    uint64_t wrong;
};

gordian_status library_open(struct library *library, struct bench *bench, const char *uri,
                            const gordian_client_options *options, const struct serve_load *load,
                            gordian_error *error);
void library_close(struct library *library, struct bench *bench);
/* One event, and its answer. */
gordian_status library_single(struct library *library, gordian_error *error);
/* Many, as fast as they go: nanoseconds an operation; `context` is a library. */
gordian_status library_run(void *context, double *ns, gordian_error *error);
/* The row of that. */
gordian_status library_stream(struct library *library, struct bench *bench);

/* ---- tls.c, many.c, soak.c */

/* The library over TCP and over TLS, beside each other. */
gordian_status serve_tls(struct bench *bench, const struct serve_load *load);

gordian_status serve_many(struct bench *bench, const struct service_process *ours,
                          const struct service_process *redis);
gordian_status serve_soak(struct bench *bench);

/* ---- serve_store.c: on PostgreSQL */

gordian_status serve_store(struct bench *bench, const char *store, const struct serve_load *load);
