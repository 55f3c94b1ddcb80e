/* The handler may interrupt anything. It takes no lock that its own thread may hold: if the thread
 * is inside, the request waits until it leaves. */
#include "sources/run/report/status.h"

#include "sources/run/libc/real.h"
#include "sources/run/report/reporter_launch.h"
#include "sources/run/report/thread_survey.h"
#include "sources/run/state/guard.h"
#include "sources/run/state/system_call.h"
#include "sources/run/state/text.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

/* The name of this mapping in /proc/PID/maps shows that the signal belongs to the library. */
static struct incident_status *mapping;
static size_t mapping_size;

/* Keeps the answer in memory, until the next one, for a command that may read this process although
 * the process may not write to the command's file (it has given up its privileges). */
static void leave_answer(struct incident_builder *builder)
{
    static struct incident_status last;
    struct incident_status *shown = __atomic_load_n(&mapping, __ATOMIC_ACQUIRE);
    int fd = shown ? builder_write(builder) : -1;
    size_t size = builder->header.total_size;
    if (fd < 0)
        return;
    void *answer = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    sys_close(fd);
    if (answer == MAP_FAILED)
        return;
    void *before = (void *)(uintptr_t)__atomic_exchange_n(
        &last.address, (uint64_t)(uintptr_t)answer, __ATOMIC_ACQ_REL);
    uint64_t size_before = __atomic_exchange_n(&last.size, size, __ATOMIC_ACQ_REL);
    __atomic_store_n(&shown->address, (uint64_t)(uintptr_t)answer, __ATOMIC_RELAXED);
    __atomic_store_n(&shown->size, size, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shown->answers, 1, __ATOMIC_RELEASE);
    pages_unmap(before, size_before);
}

/* To a file; to the program's own stderr, through the reporter; or to memory. */
enum { TO_STDERR = -1, TO_MEMORY = -2 };

static void send_status(int to)
{
    struct arena arena;
    struct incident_builder builder;
    if (!arena_open(&arena))
        return;
    builder_open(&builder, &arena, INCIDENT_STATUS);
    survey_threads(&builder);
    if (self)
        builder.header.first = builder_thread(&builder, self, 0);
    if (to >= 0) {
        builder_write_to(&builder, to);
    } else if (to == TO_MEMORY) {
        leave_answer(&builder);
    } else {
        struct notice notice = {.fd = builder_write(&builder), .kind = INCIDENT_STATUS};
        launch_report(&notice);
    }
    arena_close(&arena);
}

/* Opens the file that the requester holds open. */
static int open_asker(uint32_t pid, int fd)
{
    char buffer[64];
    struct text path;
    text_open(&path, buffer, sizeof buffer);
    text_add(&path, "/proc/");
    text_decimal(&path, pid);
    text_add(&path, "/fd/");
    text_decimal(&path, (uint64_t)fd);
    return sys_open(buffer, O_RDWR);
}

/* `fd` -1: only the program's own stderr is available. */
static void answer_status(uint32_t pid, int fd)
{
    struct thread *t = self;
    struct shield shield;
    work_begin(t, &shield);
    int to = fd >= 0 ? open_asker(pid, fd) : TO_STDERR;
    if (fd >= 0 && to < 0)
        to = TO_MEMORY;
    send_status(to);
    if (to >= 0)
        sys_close(to);
    work_end(t, &shield);
}

static _Atomic uint32_t asker_pid;
static _Atomic int asker_fd;

static void answer_pending(void)
{
    int saved = errno;
    if (atomic_exchange(&watch.status_wanted, false))
        answer_status(atomic_load(&asker_pid), atomic_load(&asker_fd));
    errno = saved;
}

static void status_handler(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    int saved = errno;
    atomic_store(&asker_pid, (uint32_t)info->si_pid);
    atomic_store(&asker_fd, info->si_code == SI_QUEUE ? info->si_value.sival_int : -1);
    atomic_store(&watch.status_wanted, true);
    if (!self || !self->inside)
        answer_pending();
    errno = saved;
}

/* ------------------------------------------------------------------ owner of the signal */

void status_start(void)
{
    int number = watch.status_signal;
    struct sigaction action;
    if (number <= 0 || number > 64 || real.sigaction(number, NULL, &action) != 0 ||
        action.sa_handler != SIG_DFL) {
        watch.status_signal = 0;
        return;
    }
    watch.answer_status = answer_pending;
    /* Install the handler before the mapping: a requester relies on the mapping, since without a
     * handler the signal kills. */
    memset(&action, 0, sizeof action);
    action.sa_sigaction = status_handler;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    real.sigaction(number, &action, NULL);
    char name[32];
    text_join(name, sizeof name, INCIDENT_STATUS_MAP, (uint64_t)number, "");
    int fd = (int)sys_call(SYS_memfd_create, name, 1u /* close on exec */);
    mapping_size = (size_t)sysconf(_SC_PAGESIZE);
    if (fd >= 0 && sys_call(SYS_ftruncate, fd, mapping_size) == 0) {
        void *mapped = mmap(NULL, mapping_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        mapping = mapped == MAP_FAILED ? NULL : mapped;
    }
    if (fd >= 0)
        sys_close(fd);
}

void status_yield(int number)
{
    if (number != watch.status_signal || number <= 0)
        return;
    watch.status_signal = 0;
    void *mapped = __atomic_exchange_n(&mapping, NULL, __ATOMIC_ACQ_REL);
    if (mapped)
        real.munmap(mapped, mapping_size);
}

void status_release_signal(void)
{
    int number = watch.status_signal;
    struct sigaction usual = {.sa_handler = SIG_DFL};
    if (number <= 0)
        return;
    real.sigaction(number, &usual, NULL);
    status_yield(number);
}
