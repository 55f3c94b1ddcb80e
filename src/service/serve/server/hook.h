/* Who is told of deadlocks from outside (--on-deadlock): a URL or a command. A thread does it; the
 * loop only hands over what is to be told, once it is kept.
 *
 * A URL gets a POST of JSON, an answer of 2xx is enough; anything else is tried again, later and
 * later. With a secret its header X-Gordian-Signature is "sha256=" and the HMAC of
 * "TIMESTAMP.BODY", the time being X-Gordian-Timestamp. A command gets the JSON on its standard
 * input and has to end with 0. One at a time, in their order; what cannot be told for long is
 * dropped, and counted. What is done with, told or dropped, is for the loop to write down; the rest
 * is told by whoever leads, or is started, next. */
#pragma once

#include "service/serve/store/incidents_db.h"

#include <pthread.h>
#include <sys/types.h>

#define HOOK_QUEUE 256   /* more that wait to be told: the oldest is dropped */
#define HOOK_TRIES 8     /* of one */
#define HOOK_MS    10000 /* for an answer; for a command six times that */

struct hook;

struct hook_figures {
    uint64_t told, failed, dropped; /* failed: tries */
    char trouble[200];              /* of the last try that failed */
};

/* `target`: http://..., https://... or a command for the shell. `secret`: a file, or NULL. On
 * failure *out is NULL. */
gordian_status hook_open(struct hook **out, const char *target, const char *secret,
                         gordian_error *error);
/* Nothing more is told, and whatever is under way is broken off. NULL is fine. */
void hook_stop(struct hook *hook);
void hook_close(struct hook *hook); /* likewise, and for good */

/* Another leads, and tells what is not told yet: all of it is dropped. What is under way is not
 * waited for; it is not tried again. NULL is fine. */
void hook_clear(struct hook *hook);

/* It began or ended; to be told when this record is kept. */
void hook_tell(struct hook *hook, const struct incident *incident, uint64_t number);
/* The records up to this one are. */
void hook_release(struct hook *hook, uint64_t committed);
/* One that is done with: an incident's beginning, or its end. False: no other is. */
bool hook_take_done(struct hook *hook, uint64_t *id, bool *ended);
void hook_figures(struct hook *hook, struct hook_figures *figures);

/* ---- hook_send.c, for the thread. Each fails with words for the log. */

struct hook_target {
    bool is_url, tls;
    char host[256], port[8], path[1024];
    char command[1024];
    unsigned char secret[256];
    size_t secret_length;
    unsigned first_wait_ms; /* after the first failure; doubled each time */
    pthread_mutex_t guard;  /* of what follows, which another thread breaks off */
    int fd;                 /* of the connection; -1 */
    pid_t child;            /* the command's process, and its group; 0 */
    uint64_t broken_at;     /* 0: it was not broken off */
};

gordian_status hook_parse(struct hook_target *target, const char *text, const char *secret,
                          gordian_error *error);
gordian_status hook_send(struct hook_target *target, const char *body, size_t length,
                         gordian_error *error);
/* For another thread: what is being sent, and all that would be sent later, fails soon. */
void hook_break_off(struct hook_target *target);
