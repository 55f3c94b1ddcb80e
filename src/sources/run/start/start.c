#include "sources/run/start/start.h"

#include "foundation/base/clock.h"
#include "sources/run/judge/judge.h"
#include "sources/run/judge/timers.h"
#include "sources/run/libc/lock_layout.h"
#include "sources/run/libc/lock_word.h"
#include "sources/run/libc/real.h"
#include "sources/run/locks/lock_order.h"
#include "sources/run/locks/lock_registry.h"
#include "sources/run/report/lock_order_inversion.h"
#include "sources/run/report/long_wait.h"
#include "sources/run/report/mailbox.h"
#include "sources/run/report/status.h"
#include "sources/run/report/summary.h"
#include "sources/run/start/sandbox.h"
#include "sources/run/state/arena.h"
#include "sources/run/state/message.h"
#include "sources/run/state/settings.h"
#include "sources/run/state/shield.h"
#include "sources/run/state/system_call.h"
#include "sources/run/threads/thread_table.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

extern char __libc_single_threaded __attribute__((weak));

/* ------------------------------------------------------------------ can the program be watched? */

extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));
extern void __hwasan_init(void) __attribute__((weak));

/* Sanitizers intercept the same functions. */
static const char *sanitizer_inside(void)
{
    if (__tsan_init)
        return "the program is built with ThreadSanitizer, which cannot be watched";
    if (__asan_init || __hwasan_init)
        return "the program is built with AddressSanitizer, which cannot be watched";
    if (__msan_init)
        return "the program is built with MemorySanitizer, which cannot be watched";
    return NULL;
}

/* ------------------------------------------------------------------ setting up */

/* Lasts from the first fork handler to the last. */
static __thread struct shield forking __attribute__((tls_model("initial-exec")));

static void before_fork(void)
{
    struct thread *t = self;
    if (!t)
        return;
    shield_raise(&forking);
    t->inside++;
    t->stopped_orders = order_stop();
    t->stopped_locks = locks_stop();
}

static void in_parent(void)
{
    struct thread *t = self;
    if (!t)
        return;
    if (t->stopped_locks)
        locks_go_on();
    if (t->stopped_orders)
        order_go_on();
    inside_leave(t);
    shield_lower(&forking);
}

static void in_child(void)
{
    if (self)
        inside_leave(self);
    locks_fork();
    table_fork();
    judge_fork();
    order_fork();
    long_wait_fork();
    __atomic_fetch_add(&watch.tally->processes, 1, __ATOMIC_RELAXED);
    if (self)
        shield_lower(&forking);
}

static void map_tally(const char *path)
{
    int fd = path && *path ? sys_open(path, O_RDWR) : -1;
    if (fd < 0)
        return;
    size_t whole =
        INCIDENT_MAILBOX_OFFSET + sizeof(struct incident_mailbox) + INCIDENT_MAILBOX_ROOM;
    bool has_box = sys_call(SYS_lseek, fd, 0, SEEK_END) >= (long)whole;
    size_t size = has_box ? whole : sizeof(struct incident_tally);
    struct incident_tally *tally = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    sys_close(fd);
    if (tally == MAP_FAILED)
        return;
    if (memcmp(tally->magic, INCIDENT_TALLY_MAGIC, sizeof tally->magic) != 0) {
        real.munmap(tally, size);
        return;
    }
    watch.tally = tally;
    if (has_box)
        mailbox_start((struct incident_mailbox *)((char *)tally + INCIDENT_MAILBOX_OFFSET));
}

#define LEAST_ADDRESSES ((size_t)256 << 20) /* tables use a third of it */

/* Returns why the watcher cannot start; NULL: it has started. */
static const char *set_up_watcher(void)
{
    if (!real_resolve())
        return "this C library lacks required functions";
    const char *why = sanitizer_inside();
    if (why)
        return why;
    if (!lock_layout_is_known((uint32_t)sys_call(SYS_gettid)))
        return "the locks of this C library have a layout unknown to this version";
    if (pages_most() < LEAST_ADDRESSES / 16)
        return "the address space limit of the program is too small";
    if (!table_start() || !locks_start() || !order_start(inversion_look))
        return "out of memory";
    if (pthread_atfork(before_fork, in_parent, in_child) != 0)
        return "out of memory";
    word_start();
    if (&__libc_single_threaded)
        watch.single = &__libc_single_threaded;
    return NULL;
}

bool start_watching(void)
{
    uint32_t expected = WATCH_NEW;
    if (!atomic_compare_exchange_strong(&watch.state, &expected, WATCH_STARTING)) {
        if (expected == WATCH_STARTING)
            real_resolve(); /* called from within, or another thread is starting it */
        return expected == WATCH_ON;
    }
    int saved = errno;
    watch.pid = (uint32_t)sys_call(SYS_getpid);
    watch.start_ticks = clock_ticks();
    watch.start_ns = sys_now();
    settings_read();
    real_resolve();
    map_tally(setting_text("GORDIAN_TALLY"));
    pages_begin();
    const char *why = setting_is("GORDIAN_RUN", "0") ? "" : set_up_watcher();
    pages_settle(!why);
    if (why) {
        atomic_store(&watch.state, WATCH_OFF);
        if (*why)
            watch_refuse(why);
    } else {
        __atomic_fetch_add(&watch.tally->processes, 1, __ATOMIC_RELAXED);
        atomic_store(&watch.state, WATCH_ON);
        timers_start();
        status_start();
        sandbox_start();
    }
    errno = saved;
    return !why;
}

static __attribute__((destructor(101))) void destructor(void)
{
    if (atomic_load(&watch.state) == WATCH_ON)
        summary_report();
}
