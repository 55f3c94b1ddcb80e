/* Notifications for a webhook or a command: the queue and the thread that sends them. */
#include "service/serve/server/hook.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAIT_MS     1000
#define WAIT_MS_MAX 60000

struct notice {
    struct notice *next;
    uint64_t number;
    uint64_t id; /* of the incident */
    bool ended;
    char *text;
    size_t length;
};

/* oldest first */
struct notice_list {
    struct notice *first, **end;
};

struct hook {
    gordian_allocator memory;
    struct hook_target target;
    pthread_t thread;
    bool running;
    struct notice_list held; /* used by the event loop only: not committed yet */
    pthread_mutex_t mutex;   /* protects the members below */
    pthread_cond_t wake;
    bool stopping;
    bool cleared; /* another server will send what fails now */
    struct notice_list queue;
    unsigned count;          /* of `queue` */
    struct notice_list done; /* sent or dropped */
    struct hook_figures figures;
};

static void free_notice(struct hook *hook, struct notice *notice)
{
    memory_free_all(&hook->memory, notice->text, notice);
}

static void put_notice(struct notice_list *list, struct notice *notice)
{
    notice->next = NULL;
    *list->end = notice;
    list->end = &notice->next;
}

/* NULL: the list is empty. */
static struct notice *take_notice(struct notice_list *list)
{
    struct notice *notice = list->first;
    list->first = notice ? notice->next : NULL;
    if (!list->first)
        list->end = &list->first;
    return notice;
}

static void clear_notices(struct hook *hook, struct notice_list *list)
{
    for (struct notice *notice; (notice = take_notice(list));)
        free_notice(hook, notice);
}

/* ------------------------------------------------------------------ the thread */

/* The caller holds the mutex. Returns false if the thread must stop. */
static bool wait_ms(struct hook *hook, unsigned ms)
{
    uint64_t end = clock_ns() + UINT64_C(1000000) * ms;
    struct timespec until = {.tv_sec = (time_t)(end / 1000000000),
                             .tv_nsec = (long)(end % 1000000000)};
    while (!hook->stopping && !hook->cleared &&
           pthread_cond_timedwait(&hook->wake, &hook->mutex, &until) == 0)
        continue;
    return !hook->stopping && !hook->cleared;
}

/* The caller holds the mutex, which is released meanwhile. Returns false if sending was aborted. */
static bool send_notice(struct hook *hook, const struct notice *notice)
{
    unsigned pause = hook->target.first_wait_ms;
    for (int tries = 0; tries < HOOK_TRIES; tries++) {
        gordian_error error = {0};
        pthread_mutex_unlock(&hook->mutex);
        gordian_status status = hook_send(&hook->target, notice->text, notice->length, &error);
        pthread_mutex_lock(&hook->mutex);
        if (status == GORDIAN_OK) {
            hook->figures.sent++;
            return true;
        }
        hook->figures.failed++;
        snprintf(hook->figures.trouble, sizeof hook->figures.trouble, "%.199s", error.message);
        if (hook->stopping || hook->cleared || (tries + 1 < HOOK_TRIES && !wait_ms(hook, pause)))
            return false;
        pause = pause * 2 < WAIT_MS_MAX ? pause * 2 : WAIT_MS_MAX;
    }
    hook->figures.dropped++;
    return true;
}

static void *send_notices(void *context)
{
    struct hook *hook = context;
    pthread_mutex_lock(&hook->mutex);
    while (!hook->stopping) {
        struct notice *notice = take_notice(&hook->queue);
        if (!notice) {
            pthread_cond_wait(&hook->wake, &hook->mutex);
            continue;
        }
        hook->count--;
        hook->cleared = false;
        if (send_notice(hook, notice))
            put_notice(&hook->done, notice);
        else
            free_notice(hook, notice);
    }
    pthread_mutex_unlock(&hook->mutex);
    return NULL;
}

/* ------------------------------------------------------------------ opening and closing */

/* The thread outlives a server that has lost the leadership. Until the next server is open, SIGTERM
 * has no handler and is blocked in the other thread; in this thread it would end the process. */
static gordian_status start_hook_thread(struct hook *hook, gordian_error *error)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&hook->thread, NULL, send_notices, hook);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    hook->running = code == 0;
    return code ? fail(error, GORDIAN_STATUS_MEMORY, "cannot start a thread: %s", strerror(code))
                : GORDIAN_OK;
}

gordian_status hook_open(struct hook **out, const char *target, const char *secret,
                         gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL); /* used by two threads */
    struct hook *hook = memory_zeroed(&memory, sizeof *hook);
    pthread_condattr_t attributes;
    *out = NULL;
    if (!hook)
        return fail_memory(error);
    hook->memory = memory;
    hook->queue.end = &hook->queue.first;
    hook->held.end = &hook->held.first;
    hook->done.end = &hook->done.first;
    hook->target.first_wait_ms = WAIT_MS;
    pthread_mutex_init(&hook->mutex, NULL);
    pthread_mutex_init(&hook->target.guard, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&hook->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    gordian_status status = hook_parse(&hook->target, target, secret, error);
    THEN(status, start_hook_thread(hook, error));
    if (status == GORDIAN_OK)
        *out = hook;
    else
        hook_close(hook);
    return status;
}

void hook_stop(struct hook *hook)
{
    if (!hook || !hook->running)
        return;
    pthread_mutex_lock(&hook->mutex);
    hook->stopping = true;
    pthread_cond_signal(&hook->wake);
    pthread_mutex_unlock(&hook->mutex);
    hook_abort(&hook->target);
    pthread_join(hook->thread, NULL);
    hook->running = false;
}

void hook_clear(struct hook *hook)
{
    if (!hook)
        return;
    pthread_mutex_lock(&hook->mutex);
    clear_notices(hook, &hook->queue);
    hook->count = 0;
    hook->cleared = true;
    pthread_cond_signal(&hook->wake);
    pthread_mutex_unlock(&hook->mutex);
    clear_notices(hook, &hook->held);
}

void hook_close(struct hook *hook)
{
    if (!hook)
        return;
    hook_stop(hook);
    clear_notices(hook, &hook->queue);
    clear_notices(hook, &hook->held);
    clear_notices(hook, &hook->done);
    pthread_mutex_destroy(&hook->mutex);
    pthread_mutex_destroy(&hook->target.guard);
    pthread_cond_destroy(&hook->wake);
    memset(hook->target.secret, 0, sizeof hook->target.secret);
    gordian_allocator memory = hook->memory;
    memory_free(&memory, hook);
}

/* ------------------------------------------------------------------ functions for the event loop
 */

void hook_queue_notice(struct hook *hook, const struct incident *incident, uint64_t number)
{
    struct incident brief = *incident;
    struct output text;
    struct json json;
    struct notice *notice = memory_zeroed(&hook->memory, sizeof *notice);
    brief.replay = NULL;
    output_open(&text, -1);
    json_begin(&json, &text);
    json_key_text(&json, "event", incident->ended ? "ended" : "began");
    json_open(&json, "deadlock", '{');
    incident_json(&json, &brief);
    json_end(&json);
    if (!notice || text.failure) {
        memory_free(&hook->memory, notice);
        output_close(&text);
        return;
    }
    *notice = (struct notice){.number = number,
                              .id = incident->id,
                              .ended = incident->ended > 0,
                              .text = text.buffer,
                              .length = text.used};
    put_notice(&hook->held, notice);
}

void hook_release(struct hook *hook, uint64_t committed)
{
    if (!hook || !hook->held.first || hook->held.first->number > committed)
        return;
    pthread_mutex_lock(&hook->mutex);
    while (hook->held.first && hook->held.first->number <= committed) {
        put_notice(&hook->queue, take_notice(&hook->held));
        if (++hook->count > HOOK_QUEUE) {
            put_notice(&hook->done, take_notice(&hook->queue));
            hook->count--;
            hook->figures.dropped++;
        }
    }
    pthread_cond_signal(&hook->wake);
    pthread_mutex_unlock(&hook->mutex);
}

bool hook_take_done(struct hook *hook, uint64_t *id, bool *ended)
{
    pthread_mutex_lock(&hook->mutex);
    struct notice *notice = take_notice(&hook->done);
    pthread_mutex_unlock(&hook->mutex);
    if (!notice)
        return false;
    *id = notice->id;
    *ended = notice->ended;
    free_notice(hook, notice);
    return true;
}

void hook_figures(struct hook *hook, struct hook_figures *figures)
{
    pthread_mutex_lock(&hook->mutex);
    *figures = hook->figures;
    pthread_mutex_unlock(&hook->mutex);
}
