/* A live process. Reads /proc and memory (process_vm_readv) without stopping a thread; only reading
 * registers requires a stop (stop.h). */
#define _GNU_SOURCE
#include "sources/inspect/target/target.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/hash.h"
#include "foundation/base/memory.h"
#include "foundation/records/incident.h"
#include "sources/inspect/target/permissions.h"
#include "sources/inspect/target/proc.h"
#include "sources/inspect/target/stop.h"
#include "sources/inspect/target/system_calls.h"
#include "sources/run/judge/verdict_policy.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define WHOLE_FILE_MOST (256u << 20)

/* ------------------------------------------------------------------ files of /proc */

/* Returns the last number of a line: the one in the innermost pid namespace. */
static uint32_t innermost_number(const char *text, const char *word, uint32_t otherwise)
{
    const char *value = proc_line(text, word);
    uint32_t number = otherwise;
    while (value && *value >= '0' && *value <= '9') {
        char *end;
        number = (uint32_t)strtoul(value, &end, 10);
        value = end + strspn(end, " \t");
    }
    return number;
}

static bool read_whole(struct target *target, const char *path, char **text, size_t *size)
{
    size_t used = 0, room = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : 1;
    while (count > 0 && used < WHOLE_FILE_MOST) {
        if (!memory_grow(&target->memory, text, &room, used + (64u << 10), 1))
            break;
        count = read(fd, *text + used, room - used);
        if (count < 0 && errno == EINTR)
            count = 1;
        else if (count > 0)
            used += (size_t)count;
    }
    if (fd >= 0)
        close(fd);
    *size = used;
    return count == 0;
}

uint32_t target_parent(uint32_t pid, char *state)
{
    char text[PROC_STAT];
    const char *behind = proc_stat(pid, text);
    *state = behind ? behind[0] : 'Z';
    if (*state == 'Z' && proc_living(pid))
        *state = 'S'; /* the first thread has ended, the process has not */
    return behind ? (uint32_t)strtoul(behind + 1, NULL, 10) : 0;
}

/* ------------------------------------------------------------------ threads */

/* "98 0x.. 0x.. 0x.. 0x.. 0x.. 0x.. STACK COUNTER", "-1 STACK COUNTER", or "running". */
static void parse_call(struct target_thread *thread, const char *line)
{
    char *end;
    long long number = strtoll(line, &end, 10);
    thread->activity = TARGET_RUNS;
    if (end == line)
        return;
    uint64_t values[8];
    size_t count = 0;
    while (count < 8 && *end == ' ') {
        char *from = end;
        values[count] = strtoull(from, &end, 16);
        if (end == from)
            break;
        count++;
    }
    if (count < 2)
        return;
    thread->stack = values[count - 2];
    thread->counter = values[count - 1];
    if (number < 0 || count < 8) { /* stopped outside a system call */
        thread->activity = TARGET_UNKNOWN;
        return;
    }
    thread->activity = TARGET_SLEEPS;
    thread->call = (uint64_t)number;
    memcpy(thread->arguments, values, sizeof thread->arguments);
}

static bool read_call(const struct target *target, struct target_thread *thread)
{
    char text[256];
    if (proc_read_thread(target->seen_pid, thread->seen_tid, "syscall", text, sizeof text) <= 0)
        return false;
    parse_call(thread, text);
    return true;
}

static void parse_status(struct target_thread *thread, const char *text)
{
    const char *name = proc_line(text, "Name:"), *state = proc_line(text, "State:");
    if (name)
        snprintf(thread->name, sizeof thread->name, "%.*s", (int)strcspn(name, "\n"), name);
    thread->state = state ? *state : '?';
    thread->tid = innermost_number(text, "NSpid:", thread->seen_tid);
    thread->blocked = proc_number(text, "SigBlk:", 16);
    if (policy_is_shielded(thread->blocked))
        thread->blocked = 0; /* the saved mask is unknown, so assume that no signal is blocked */
    thread->switches = proc_number(text, "voluntary_ctxt_switches:", 10) +
                       proc_number(text, "nonvoluntary_ctxt_switches:", 10);
}

/* Reads the system call before the count of switches: see inspect.h. False: the thread has ended,
 * or reading it is not permitted (errno). */
static bool read_parts(const struct target *target, struct target_thread *thread, char *text,
                       size_t size)
{
    if (!read_call(target, thread) ||
        proc_read_thread(target->seen_pid, thread->seen_tid, "status", text, size) <= 0)
        return false;
    parse_status(thread, text);
    return true;
}

static bool read_thread(struct target *target, uint32_t tid)
{
    char text[4096];
    struct target_thread thread = {.seen_tid = tid};
    if (!read_parts(target, &thread, text, sizeof text)) {
        /* The files of a thread without memory are readable for root only. */
        int failure = errno;
        bool refused = failure == EACCES || failure == EPERM;
        errno = refused && proc_is_ending(tid) ? ESRCH : failure;
        return false;
    }
    bool helper = strcmp(thread.name, INCIDENT_HELPER_NAME) == 0;
    if (thread.state == 'Z' || thread.state == 'X' || helper)
        return errno = 0, false;
    struct target_thread *place = target_add_thread(target);
    if (!place)
        return errno = ENOMEM, false;
    *place = thread;
    if (tid == target->through) { /* the same for all threads */
        target->handlers = proc_number(text, "SigCgt:", 16);
        target->handlers_known = proc_line(text, "SigCgt:");
    }
    return true;
}

static bool live_poll(struct target *target, struct target_thread *thread)
{
    char text[4096];
    struct target_thread now = {.seen_tid = thread->seen_tid};
    if (!read_parts(target, &now, text, sizeof text))
        return false;
    *thread = now;
    return true;
}

char target_state(const struct target *target, uint32_t seen_tid)
{
    char text[4096];
    if (target->core ||
        proc_read_thread(target->seen_pid, seen_tid, "status", text, sizeof text) <= 0)
        return 0;
    const char *state = proc_line(text, "State:");
    return state ? *state : 0;
}

void target_await_sleep(const struct target *target, uint32_t seen_tid, uint64_t until)
{
    for (char state; (state = target_state(target, seen_tid)) && state != 'S';) {
        if (clock_ns() >= until)
            break;
        nanosleep(&(struct timespec){0, 200000}, NULL);
    }
}

bool target_shares_memory(const struct target *target)
{
    enum { VM = 1 }; /* KCMP_VM */
    bool shares = false;
    DIR *folder = target->core ? NULL : opendir("/proc");
    for (struct dirent *entry; folder && !shares && (entry = readdir(folder));) {
        uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        shares = pid && pid != target->seen_pid &&
                 syscall(SYS_kcmp, pid, target->through, VM, 0, 0) == 0;
    }
    if (folder)
        closedir(folder);
    return shares;
}

static gordian_status refuse_look(const struct target *target, gordian_error *error)
{
    struct rights rights = rights_over(target->seen_pid);
    return rights_report(&rights, error);
}

static gordian_status list_failure(const struct target *target, int failure, gordian_error *error)
{
    char text[PROC_STAT];
    if (failure == ENOMEM)
        return fail_memory(error);
    if (failure == EPERM || failure == EACCES)
        return refuse_look(target, error);
    if (proc_stat(target->seen_pid, text) && !proc_living(target->seen_pid))
        return fail(error, GORDIAN_STATUS_INPUT,
                    "process %u is a zombie: it has ended, and cannot be inspected",
                    target->seen_pid);
    return fail(error, GORDIAN_STATUS_INPUT, "process %u has ended", target->seen_pid);
}

/* Sets the paths of its program, root and mapped files. */
static bool read_places(struct target *target)
{
    char path[64], program[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%u/exe", target->through);
    ssize_t length = readlink(path, program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    char *deleted = strstr(program, " (deleted)");
    if (deleted)
        *deleted = '\0';
    if (!target_set_text(&target->program, program))
        return false;
    snprintf(path, sizeof path, "/proc/%u/root", target->through);
    if (!target_set_text(&target->root, path))
        return false;
    snprintf(path, sizeof path, "/proc/%u/map_files", target->through);
    return target_set_text(&target->mapped, path);
}

static gordian_status live_list(struct target *target, gordian_error *error)
{
    char path[64];
    int failure = 0;
    size_t listed = 0;
    struct stat about = {.st_nlink = 0};
    snprintf(path, sizeof path, "/proc/%u/task", target->seen_pid);
    DIR *folder = opendir(path);
    target->thread_count = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        errno = 0;
        listed += tid != 0;
        if (tid && !read_thread(target, tid) && errno != ENOENT && errno != ESRCH)
            failure = errno ? errno : failure;
    }
    /* While threads end, the kernel's list may be incomplete. The link count is not. */
    if (folder && fstat(dirfd(folder), &about) == 0)
        target->partial = about.st_nlink != listed + 2;
    if (folder)
        closedir(folder);
    if (failure || target->thread_count == 0)
        return list_failure(target, failure, error);
    target_sort_threads(target);
    if (!proc_is_ending(target->through))
        return GORDIAN_OK;
    target->through = target->threads[0].seen_tid;
    return read_places(target) ? GORDIAN_OK : fail_memory(error);
}

/* ------------------------------------------------------------------ memory */

static size_t live_read(struct target *target, uint64_t address, void *to, size_t size)
{
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};
    ssize_t count = process_vm_readv((pid_t)target->through, &local, 1, &remote, 1, 0);
    return count > 0 ? (size_t)count : 0;
}

/* ------------------------------------------------------------------ registers */

/* Returns how often the thread has yielded its processor voluntarily. */
static uint64_t rests_of(const struct target *target, uint32_t tid)
{
    char text[4096];
    return proc_read_thread(target->seen_pid, tid, "status", text, sizeof text) > 0
               ? proc_number(text, "voluntary_ctxt_switches:", 10)
               : UINT64_MAX;
}

/* Returns whether a time limit is set on the socket itself. A call on such a socket fails with
 * EINTR when interrupted, and would wait for the whole time limit if repeated. Also true if that
 * cannot be determined. */
static bool socket_is_timed(const struct target *target, uint64_t descriptor)
{
    char link[64];
    struct timeval limit = {0, 0};
    socklen_t size = sizeof limit;
    if (!proc_descriptor(target->through, descriptor, link, sizeof link))
        return true;
    if (strncmp(link, "socket:", strlen("socket:")) != 0)
        return false;
    int process = (int)syscall(SYS_pidfd_open, target->seen_pid, 0);
    int copy = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, (int)descriptor, 0);
    bool known = copy >= 0 && getsockopt(copy, SOL_SOCKET, SO_RCVTIMEO, &limit, &size) == 0;
    if (copy >= 0)
        close(copy);
    if (process >= 0)
        close(process);
    return !known || limit.tv_sec || limit.tv_usec;
}

/* Returns whether the thread would notice a stop. The current state of the thread decides, and it
 * may change before the stop. So a thread that slept must still sleep in the same call, and a
 * thread that ran must run without yielding. */
static bool would_notice(const struct target *target, const struct target_thread *thread,
                         const struct target_thread *now, const struct sleep_call *call)
{
    if (now->activity != thread->activity)
        return true;
    if (now->activity == TARGET_UNKNOWN)
        return false;
    if (now->activity == TARGET_RUNS) {
        uint64_t before = rests_of(target, thread->seen_tid);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        return rests_of(target, thread->seen_tid) != before;
    }
    return now->call != thread->call || now->arguments[0] != thread->arguments[0] ||
           call->notices || (call->kind == CALL_READ && socket_is_timed(target, now->arguments[0]));
}

static void note_stop(struct target *target, uint64_t spent)
{
    target->threads_stopped++;
    target->stopped_ns = spent > target->stopped_ns ? spent : target->stopped_ns;
}

static bool live_registers(struct target *target, struct target_thread *thread, unsigned stop_ms,
                           struct stack_copy *stack)
{
    unsigned char set[STOP_SET];
    struct target_thread now = {.seen_tid = thread->seen_tid};
    struct sleep_call call;
    /* A thread in uninterruptible sleep would not stop in time. */
    if (stop_ms == 0 || thread->state == 'D' || !read_call(target, &now))
        return false;
    bool sleeps = sleep_call(target, &now, &call);
    if (!target->doomed && would_notice(target, thread, &now, &call))
        return false;
    /* If this process is killed during the stop, the kernel still repeats the call. */
    bool by_itself = target->doomed || !sleeps || (call.restarts && !call.timed);
    uint64_t start = clock_ns();
    ssize_t size = stop_for_registers(target->through, thread->seen_tid,
                                      stop_ms * UINT64_C(1000000), by_itself, set, stack);
    if (size < 0)
        return false;
    if (size > 0)
        target_take_registers(target, thread, set, (size_t)size);
    note_stop(target, clock_ns() - start);
    return size > 0;
}

/* The thread sleeps without a time limit in a call that the kernel restarts, so it does not notice.
 */
static bool live_ask(struct target *target, uint32_t seen_tid, unsigned stop_ms, struct ask *ask)
{
    struct target_thread now = {.seen_tid = seen_tid};
    struct sleep_call call;
    if (!read_call(target, &now) || !sleep_call(target, &now, &call) || call.timed ||
        call.notices || (call.kind == CALL_READ && socket_is_timed(target, now.arguments[0])))
        return false;
    uint64_t start = clock_ns();
    bool done = stop_to_ask(target->through, seen_tid, stop_ms * UINT64_C(1000000), ask);
    note_stop(target, clock_ns() - start);
    return done;
}

/* ------------------------------------------------------------------ opening */

/* A checksum of the executable mappings: it changes with exec and when a library is loaded. */
static uint64_t code_sum(const struct target *target)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < target->mapping_count; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        if (mapping->executable && mapping->inode)
            sum = hash_word(sum + hash_word(mapping->low) + mapping->inode);
    }
    return sum;
}

static bool live_remap(struct target *target, bool *other)
{
    uint64_t before = code_sum(target);
    char path[64], *maps = NULL;
    size_t size;
    gordian_error ignored;
    snprintf(path, sizeof path, "/proc/%u/maps", target->through);
    if (!read_whole(target, path, &maps, &size) || size == 0) {
        memory_free(&target->memory, maps);
        return false;
    }
    memory_free(&target->memory, target->maps);
    target->maps = maps;
    target->maps_size = size;
    if (target_parse_maps(target, &ignored) != GORDIAN_OK)
        return false;
    *other = code_sum(target) != before;
    return !*other || read_places(target);
}

static const struct target_ops live_ops = {
    .list = live_list,
    .read = live_read,
    .registers = live_registers,
    .ask = live_ask,
    .poll = live_poll,
    .remap = live_remap,
};

/* Determines the processor and word size of the program. */
static gordian_status read_machine(struct target *target, gordian_error *error)
{
    char path[64];
    unsigned char head[20] = {0};
    snprintf(path, sizeof path, "/proc/%u/exe", target->through);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == EACCES || errno == EPERM))
        return refuse_look(target, error);
    ssize_t count = fd < 0 ? -1 : pread(fd, head, sizeof head, 0);
    if (fd >= 0)
        close(fd);
    if (count < 0)
        return list_failure(target, ESRCH, error);
    if (count == sizeof head && memcmp(head, ELFMAG, SELFMAG) == 0 && head[EI_CLASS] == ELFCLASS32)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "process %u is a 32-bit program: only 64-bit programs can be inspected",
                    target->seen_pid);
#if defined(__x86_64__)
    target->machine = EM_X86_64;
#else
    target->machine = EM_AARCH64;
#endif
    return GORDIAN_OK;
}

static gordian_status open_parts(struct target *target, gordian_error *error)
{
    char path[64];
    TRY(read_machine(target, error));
    if (!read_places(target))
        return fail_memory(error);
    snprintf(path, sizeof path, "/proc/%u/maps", target->through);
    if (!read_whole(target, path, &target->maps, &target->maps_size))
        return list_failure(target, errno, error);
    gordian_status status = target_parse_maps(target, error);
    THEN(status, live_list(target, error));
    /* Reading memory requires the same permission: check it now, to report it now. */
    uint64_t word;
    if (status == GORDIAN_OK && target->mapping_count &&
        live_read(target,
                  target->threads[0].stack ? target->threads[0].stack : target->mappings[0].low,
                  &word, sizeof word) == 0 &&
        errno == EPERM)
        status = refuse_look(target, error);
    return status;
}

/* Checks that the process exists, is not a thread, and has not ended. */
static gordian_status open_process(struct target *target, gordian_error *error)
{
    uint32_t pid = target->seen_pid;
    char text[4096];
    if (proc_read(text, sizeof text, "/proc/%u/status", pid) <= 0 &&
        (errno == EMFILE || errno == ENFILE))
        return fail(error, GORDIAN_STATUS_IO,
                    "cannot inspect process %u: no file descriptor is left", pid);
    if (!text[0])
        return fail(error, GORDIAN_STATUS_INPUT, "there is no process %u", pid);
    if (proc_number(text, "Tgid:", 10) != pid)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%u is a thread of process %" PRIu64 ": inspect that process", pid,
                    proc_number(text, "Tgid:", 10));
    target->through = proc_living(pid);
    if (!target->through)
        return list_failure(target, 0, error);
    if (proc_is_kernel(pid))
        return fail(error, GORDIAN_STATUS_INPUT,
                    "process %u is a kernel thread: it has no program to inspect", pid);
    target->pid = innermost_number(text, "NSpid:", pid);
    return open_parts(target, error);
}

gordian_status target_open_live(struct target **out, uint32_t pid, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct target *target = memory_zeroed(&memory, sizeof *target);
    *out = NULL;
    if (!target)
        return fail_memory(error);
    target->memory = memory;
    target->ops = &live_ops;
    target->seen_pid = target->through = target->pid = pid;
    gordian_status status = target_fill(target, error);
    THEN(status, open_process(target, error));
    if (status != GORDIAN_OK)
        target_close(target);
    else
        *out = target;
    return status;
}
