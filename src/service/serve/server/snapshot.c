#define _GNU_SOURCE /* pipe2, F_SETPIPE_SZ */
/*
 * Makes a snapshot of the service in a child process. The child has all memory as of the fork. It
 * serializes the state and sends the sections through a pipe, while the event loop continues and
 * passes them to the store. A small state is serialized directly, which is faster than a fork; so
 * is a state with a GPU engine, because its driver does not support fork.
 *
 *     pipe    each section: u32 length of the name, u64 length, name, bytes
 *
 * The snapshot contains the records appended before the fork. A child that fails changes nothing;
 * the next snapshot is due soon.
 */
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "service/serve/server/server_internal.h"
#include "service/wire/wire.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORK_NAMES 20000 /* below this many processes and resources: no fork */
#define HEAD_SIZE  12
#define READ_SIZE  (1u << 20)

/* ------------------------------------------------------------------ without a fork */

static gordian_status put_store_section(void *context, const char *name, const void *bytes,
                                        size_t length, gordian_error *error)
{
    return store_snapshot_section(context, name, bytes, length, error);
}

static void save_now(struct server *server)
{
    gordian_error error = {0};
    if (store_snapshot_begin(server->store, &error) ||
        service_save(server->service, put_store_section, server->store, &error))
        store_snapshot_fail(server->store, error.message);
    else
        store_snapshot_end(server->store);
}

/* ------------------------------------------------------------------ the child */

static gordian_status write_to_pipe(int fd, const void *bytes, size_t length)
{
    const char *at = bytes;
    while (length > 0) {
        ssize_t count = write(fd, at, length);
        if (count < 0 && errno != EINTR)
            return GORDIAN_STATUS_IO;
        at += count > 0 ? count : 0;
        length -= count > 0 ? (size_t)count : 0;
    }
    return GORDIAN_OK;
}

static gordian_status send_section(void *context, const char *name, const void *bytes,
                                   size_t length, gordian_error *error)
{
    int fd = *(const int *)context;
    unsigned char head[HEAD_SIZE];
    wire_store32(head, (uint32_t)strlen(name));
    wire_store64(head + 4, length);
    (void)error;
    if (write_to_pipe(fd, head, sizeof head) || write_to_pipe(fd, name, strlen(name)) ||
        write_to_pipe(fd, bytes, length))
        return GORDIAN_STATUS_IO;
    return GORDIAN_OK;
}

static void close_descriptors_from(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0) == 0)
        return;
#endif
    long limit = sysconf(_SC_OPEN_MAX);
    for (int fd = first; fd < limit; fd++)
        close(fd);
}

/* From here on only the memory of the service is used, not its sockets and files. */
static _Noreturn void be_child(struct server *server, int fd, pid_t parent)
{
    if (dup2(fd, 3) != 3)
        _exit(1);
    close_descriptors_from(4); /* or connections and the folder's lock would stay open */
    fd = 3;
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    _exit(service_save(server->service, send_section, &fd, NULL) ? 1 : 0);
}

/* ------------------------------------------------------------------ data from the child */

static void close_child(struct server *server)
{
    struct snapshot_child *child = &server->child;
    gordian_allocator memory = memory_allocator(NULL);
    event_free(child->event);
    close(child->fd);
    memory_free(&memory, child->bytes);
    *child = (struct snapshot_child){0};
}

void server_snapshot_stop(struct server *server)
{
    pid_t pid = server->child.pid;
    if (pid == 0)
        return;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close_child(server);
    store_snapshot_drop(server->store);
}

static void fail_child(struct server *server, const char *why)
{
    server_snapshot_stop(server);
    store_snapshot_fail(server->store, why);
}

/* Passes all complete sections to the store. False: out of memory. */
static bool take_sections(struct server *server)
{
    struct snapshot_child *child = &server->child;
    size_t at = 0;
    for (;;) {
        char name[64];
        size_t left = child->used - at;
        const unsigned char *head = child->bytes + at;
        if (left < HEAD_SIZE)
            break;
        size_t name_length = wire_load32(head), length = wire_load64(head + 4);
        if (name_length >= sizeof name)
            return false;
        if (left < HEAD_SIZE + name_length + length)
            break;
        memcpy(name, head + HEAD_SIZE, name_length);
        name[name_length] = '\0';
        if (store_snapshot_section(server->store, name, head + HEAD_SIZE + name_length, length,
                                   NULL))
            return false;
        at += HEAD_SIZE + name_length + length;
    }
    if (at > 0) /* do not move a large section with every piece */
        memmove(child->bytes, child->bytes + at, child->used - at);
    child->used -= at;
    return true;
}

/* End of file: was the data complete? */
static void finish_snapshot(struct server *server)
{
    const struct snapshot_child *child = &server->child;
    int status = -1;
    bool whole = child->used == 0 && waitpid(child->pid, &status, 0) == child->pid && status == 0;
    if (!whole) {
        fail_child(server, "the snapshot process has failed");
        return;
    }
    close_child(server);
    store_snapshot_end(server->store);
}

static void on_child(evutil_socket_t fd, short what, void *context)
{
    struct server *server = context;
    struct snapshot_child *child = &server->child;
    gordian_allocator memory = memory_allocator(NULL);
    (void)what;
    static const char why[] = "out of memory while reading from the snapshot process";
    if (!memory_grow(&memory, &child->bytes, &child->room, child->used + READ_SIZE, 1)) {
        fail_child(server, why);
        return;
    }
    ssize_t count = read(fd, child->bytes + child->used, READ_SIZE);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    child->used += count > 0 ? (size_t)count : 0;
    if (count < 0 || !take_sections(server))
        fail_child(server, why);
    else if (count == 0)
        finish_snapshot(server);
}

/* ------------------------------------------------------------------ choosing the method */

static bool start_child(struct server *server)
{
    struct snapshot_child *child = &server->child;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return false;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    fcntl(ends[1], F_SETPIPE_SZ, READ_SIZE); /* for fewer iterations; optional */
    child->event = event_new(server->base, ends[0], EV_READ | EV_PERSIST, on_child, server);
    if (child->event && !event_add(child->event, NULL) &&
        !store_snapshot_begin(server->store, NULL)) {
        pid_t parent = getpid();
        child->pid = fork();
        if (child->pid == 0)
            be_child(server, ends[1], parent);
    }
    close(ends[1]);
    if (child->pid > 0) {
        child->fd = ends[0];
        server_log(server, 7, "process %ld is writing a snapshot", (long)child->pid);
        return true;
    }
    if (child->event)
        event_free(child->event);
    close(ends[0]);
    store_snapshot_drop(server->store);
    *child = (struct snapshot_child){0};
    return false;
}

static bool is_worth_a_fork(const struct service *service)
{
    uint64_t names = 0;
    for (uint32_t i = 0; i < service->system_limit; i++) {
        const struct served *served = service->systems[i];
        if (served && strncmp(served_engine_name(served), "cuda", 4) == 0)
            return false;
        names += served ? (uint64_t)served->process_count + served->resource_count : 0;
    }
    return names >= FORK_NAMES;
}

void server_snapshot(struct server *server, bool now)
{
    if (now)
        server_snapshot_stop(server);
    if (server->service->append_pending || server->child.pid)
        return;
    if (now || !is_worth_a_fork(server->service) || !start_child(server))
        save_now(server);
}
