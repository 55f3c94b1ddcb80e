/* A thread of the library that watches for stalls, started by the first wait that may take long,
 * and only if requested. */
#include "sources/run/report/long_wait.h"

#include "sources/run/libc/real.h"
#include "sources/run/report/delivery.h"
#include "sources/run/report/thread_survey.h"
#include "sources/run/state/guard.h"
#include "sources/run/state/system_call.h"
#include "sources/run/state/text.h"
#include "sources/run/threads/thread_table.h"

static _Atomic uint32_t watching;

void long_wait_fork(void)
{
    atomic_store(&watching, 0);
}

/* Returns whether the wait may take long: joining a working thread takes as long as the work. */
static bool is_patient(const struct observed_wait *look)
{
    struct observed_wait other;
    if (look->flags & INCIDENT_TIMED)
        return true;
    if (look->kind != INCIDENT_THREAD_END)
        return false;
    struct thread *target = table_by_handle(look->lock);
    return target && !observe_wait(target, &other);
}

/* Returns whether this wait has just exceeded the limit. */
static bool is_stalled(struct thread *t, uint64_t now)
{
    struct observed_wait look;
    if (!observe_wait(t, &look) || is_patient(&look)) {
        t->stall_generation = 0;
        return false;
    }
    if (look.generation != t->stall_generation) {
        t->stall_generation = look.generation;
        t->stall_since = now;
        t->stall_told = 0;
    }
    return !t->stall_told && now - t->stall_since >= watch.stall_ns;
}

static void report_long_wait(struct thread *longest, uint64_t signature)
{
    struct notice notice;
    struct arena arena;
    struct incident_builder builder;
    fold_add(&notice, INCIDENT_STALL, signature);
    if (notice.again || !arena_open(&arena))
        return;
    builder_open(&builder, &arena, INCIDENT_STALL);
    survey_threads(&builder);
    builder.header.first = builder_thread(&builder, longest, 0);
    builder.header.number = notice.number;
    builder.header.signature = signature;
    notice.fd = builder_write(&builder);
    arena_close(&arena);
    notice_deliver(NULL, &notice);
}

static void scan_waits(uint64_t now)
{
    struct thread *longest = NULL;
    uint64_t signature = INCIDENT_STALL;
    uint32_t limit = atomic_load(&watch.thread_limit);
    for (uint32_t i = 0; i < limit; i++) {
        struct thread *t = &watch.threads[i];
        if (!thread_is_live(t) || !is_stalled(t, now))
            continue;
        t->stall_told = 1;
        signature += (t->wait.frame[0] + t->wait.kind) * 0x9e3779b97f4a7c15u;
        if (!longest || t->stall_since < longest->stall_since)
            longest = t;
    }
    if (longest)
        report_long_wait(longest, signature);
}

/* The name shows observers that this thread belongs to the library. */
static void name_this_thread(void)
{
    char path[64];
    text_join(path, sizeof path, "/proc/self/task/", sys_gettid(), "/comm");
    int fd = sys_open(path, O_WRONLY);
    if (fd < 0)
        return;
    sys_write(fd, INCIDENT_HELPER_NAME, sizeof INCIDENT_HELPER_NAME - 1);
    sys_close(fd);
}

static void *stall_watcher(void *unused)
{
    self_aside = true;
    name_this_thread();
    atomic_store(&watch.helper_tid, sys_gettid());
    uint64_t pause = watch.stall_ns / 8;
    if (pause > 250000000u)
        pause = 250000000u;
    if (pause < 1000000u)
        pause = 1000000u;
    while (atomic_load(&watch.state) == WATCH_ON) {
        sys_sleep(pause);
        scan_waits(sys_now());
    }
    return unused;
}

/* The thread has all signals blocked, as its creator has. */
static void make_watcher(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    atomic_fetch_add(&watch.helpers, 1);
    bool made = pthread_attr_init(&attributes) == 0 &&
                pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0 &&
                real.pthread_create(&thread, &attributes, stall_watcher, NULL) == 0;
    if (!made)
        atomic_fetch_sub(&watch.helpers, 1);
}

void long_wait_watch(void)
{
    uint32_t none = 0;
    if (atomic_load_explicit(&watching, memory_order_relaxed) || watch.sandboxed)
        return;
    struct thread *t = self;
    struct shield shield;
    shield_raise_mask(&shield);
    t->inside++;
    if (atomic_compare_exchange_strong(&watching, &none, 1))
        make_watcher();
    inside_leave(t);
    shield_lower(&shield);
}
