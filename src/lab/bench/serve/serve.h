/*
 * Shared by the files of `gordian bench serve`: starting the services (start.c), connections
 * (talk.c), the
 * encoded operations (peer.c), and the measurements (serve.c, tls.c, many.c, soak.c).
 *
 * Both services, ours and redis-server, are started here, in sibling folders, on Unix sockets, and
 * are
 * treated alike: the same sockets, the same buffers, the same number of operations per write.
 * Every
 * answer is checked: ours against a system in this process that gets the same events, redis's word
 * for word.
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

/* Starts a service with this `durability`; on failure nothing is left behind. */
gordian_status serve_start(struct service_process *process, const char *durability,
                           gordian_error *error);
/* The same in two steps, with further options (NULL at the end); files can be added to the folder
 * in between. */
gordian_status serve_make_folder(struct service_process *process, gordian_error *error);
gordian_status serve_start_with(struct service_process *process, const char *durability,
                                const char *const *more, gordian_error *error);
/* Starts a service on PostgreSQL, in this schema. Its socket stays the same if it is started again.
 */
gordian_status serve_start_store(struct service_process *process, const char *store,
                                 const char *schema, const char *commits, gordian_error *error);
/* Starts redis-server with appendonly everysec; GORDIAN_STATUS_UNAVAILABLE: it is not installed. */
gordian_status serve_start_redis(struct service_process *process, gordian_error *error);
/* Stops it and removes its folder. */
void serve_stop(struct service_process *process);
/* Resident memory in bytes; 0: not known. */
uint64_t serve_memory(const struct service_process *process);

/* ---- talk.c: a connection with a buffer for each direction */

struct talk {
    int fd;
    unsigned char *out, *in;
    size_t out_used, out_capacity;
    size_t in_start, in_end, in_capacity;
};

gordian_status talk_open(struct talk *talk, const char *socket, gordian_error *error);
void talk_close(struct talk *talk);
/* Returns space for `size` more bytes to send; NULL: out of memory. Then add the bytes written to
 * out_used. */
unsigned char *talk_reserve(struct talk *talk, size_t size);
gordian_status talk_flush(struct talk *talk, gordian_error *error);
/* Reads what is available. `wait`: waits for at least a byte; otherwise it may read nothing. */
gordian_status talk_fill(struct talk *talk, bool wait, gordian_error *error);

/* ---- peer.c: the operations, encoded for one of the services */

struct serve_load {
    gordian_event *events; /* a cycle: the last event restores the initial state */
    gordian_result *expected;
    uint32_t *served; /* processes that the events serve, in order */
    size_t count, served_count;
    uint32_t process_count, resource_count;
};

gordian_status serve_load_make(struct serve_load *load, uint64_t seed, size_t count,
                               gordian_error *error);
void serve_load_free(struct serve_load *load);

#define BENCH_BATCH 4096 /* most events in one frame */

struct peer {
    struct talk talk;
    bool redis;
    bool one_a_frame; /* each event in a message of its own, as with redis */
    const struct serve_load *load;
    uint64_t number; /* of the next operation */
    uint64_t taken;  /* of the next answer */
    size_t served_at;
    uint32_t process_base, resource_base; /* first process and resource id of the load */
    char tag[24];                         /* part of names and keys that distinguishes clients */
};

/* Connects, sends hello, and declares the names of the load. `tag` must differ from other peers'.
 */
gordian_status peer_open(struct peer *peer, const char *socket, bool redis,
                         const struct serve_load *load, const char *tag, gordian_error *error);
void peer_close(struct peer *peer);
/* Encodes `count` operations into the send buffer. */
gordian_status peer_put(struct peer *peer, size_t count, gordian_error *error);
/* Reads the answers that have arrived and checks them; *taken gets their number. */
gordian_status peer_take(struct peer *peer, size_t *taken, gordian_error *error);
/* Sends `count` operations in one write, and reads all their answers. */
gordian_status peer_exchange(struct peer *peer, size_t count, gordian_error *error);
/* redis: is the stored data complete? */
gordian_status peer_verify(struct peer *peer, gordian_error *error);

/* ---- library.c: the same load through the client library */

struct library {
    gordian_client *client;
    const struct serve_load *load;
    uint32_t *ids;
    uint64_t number, taken;
    size_t operations; /* in one sample of the stream */
    uint64_t wrong;
};

gordian_status library_open(struct library *library, struct bench *bench, const char *uri,
                            const gordian_client_options *options, const struct serve_load *load,
                            gordian_error *error);
void library_close(struct library *library, struct bench *bench);
/* Sends one event and reads its answer. */
gordian_status library_single(struct library *library, gordian_error *error);
/* Sends many events as fast as possible: nanoseconds per operation; `context` is a library. */
gordian_status library_run(void *context, double *ns, gordian_error *error);
/* Adds the row of the stream. */
gordian_status library_stream(struct library *library, struct bench *bench);

/* ---- tls.c, many.c, soak.c */

/* The library over TCP, compared with TLS. */
gordian_status serve_tls(struct bench *bench, const struct serve_load *load);

gordian_status serve_many(struct bench *bench, const struct service_process *ours,
                          const struct service_process *redis);
gordian_status serve_soak(struct bench *bench);

/* ---- store.c: on PostgreSQL */

gordian_status serve_store(struct bench *bench, const char *store, const struct serve_load *load);
