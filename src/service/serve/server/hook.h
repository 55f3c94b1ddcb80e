/* Sends notifications of deadlocks (--on-deadlock) to a webhook or a command. A thread sends them;
 * the event loop queues them and releases them once they are committed.
 *
 * A webhook gets a POST of JSON; any 2xx status is a success, everything else is retried with
 * growing pauses. With a secret, the header X-Gordian-Signature is "sha256=" and the HMAC of
 * "TIMESTAMP.BODY", where TIMESTAMP is the header X-Gordian-Timestamp. A command gets the JSON on
 * its standard input and must exit with status 0. Notifications are sent one at a time, in order.
 * After too many failures they are dropped and counted. The event loop records which ones are done
 * (sent or dropped); the next leader, or the next start, sends the others.
 */
#pragma once

#include "service/serve/store/incidents_db.h"

#include <pthread.h>
#include <sys/types.h>

#define HOOK_QUEUE 256   /* maximum queue length: beyond, drop the oldest */
#define HOOK_TRIES 8     /* attempts per notification */
#define HOOK_MS    10000 /* timeout; six times that for a command */

struct hook;

struct hook_figures {
    uint64_t sent, failed, dropped; /* failed: attempts */
    char trouble[200];              /* of the last failed attempt */
};

/* `target`: http://..., https://... or a shell command. `secret`: a file, or NULL. On failure *out
 * is NULL. */
gordian_status hook_open(struct hook **out, const char *target, const char *secret,
                         gordian_error *error);
/* Stops sending, and aborts what is in progress. NULL is allowed. */
void hook_stop(struct hook *hook);
void hook_close(struct hook *hook); /* also frees everything */

/* Another server is the leader and sends the notifications: drops the queue. Does not wait for the
 * one in progress; it is not retried. NULL is allowed. */
void hook_clear(struct hook *hook);

/* Queues the begin or end of an incident, to be sent when this record is committed. */
void hook_queue_notice(struct hook *hook, const struct incident *incident, uint64_t number);
/* Releases notifications up to this record. */
void hook_release(struct hook *hook, uint64_t committed);
/* Takes a notification that is done: the begin or end of an incident. False: there is none. */
bool hook_take_done(struct hook *hook, uint64_t *id, bool *ended);
void hook_figures(struct hook *hook, struct hook_figures *figures);

/* ---- hook_send.c, called by the thread; errors are for the log */

struct hook_target {
    bool is_url, tls;
    char host[256], port[8], path[1024];
    char command[1024];
    unsigned char secret[256];
    size_t secret_length;
    unsigned first_wait_ms; /* after the first failure; doubled each time */
    pthread_mutex_t guard;  /* of the members below; another thread may abort */
    int fd;                 /* of the connection; -1: none */
    pid_t child;            /* process of the command, and its group; 0: none */
    uint64_t aborted_at;    /* 0: not aborted */
};

gordian_status hook_parse(struct hook_target *target, const char *text, const char *secret,
                          gordian_error *error);
gordian_status hook_send(struct hook_target *target, const char *body, size_t length,
                         gordian_error *error);
/* Called by another thread: the transfer in progress and all later ones fail soon. */
void hook_abort(struct hook_target *target);
