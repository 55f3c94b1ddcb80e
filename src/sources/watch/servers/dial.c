/* Connects in a thread, because resolving a host name blocks. */
#define _GNU_SOURCE
#include "sources/watch/servers/dial.h"

#include "foundation/base/memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

struct dial {
    struct connection *connection;
    enum driver_progress progress;
    int pipe[2];
    pthread_t thread;
    atomic_bool left; /* set by the first of the two threads to finish with it; the second frees
                         it */
};

static void free_dial(struct dial *dial)
{
    gordian_allocator memory = memory_allocator(NULL);
    close(dial->pipe[0]);
    close(dial->pipe[1]);
    memory_free(&memory, dial);
}

static void *dial_thread(void *context)
{
    struct dial *dial = context;
    dial->progress = dial->connection->driver->connect(dial->connection);
    ssize_t ignored = write(dial->pipe[1], "", 1);
    (void)ignored;
    if (atomic_exchange(&dial->left, true))
        free_dial(dial);
    return NULL;
}

struct dial *dial_start(struct connection *connection)
{
    gordian_allocator memory = memory_allocator(NULL);
    sigset_t all, before;
    struct dial *dial = memory_zeroed(&memory, sizeof *dial);
    if (!dial)
        return NULL;
    dial->connection = connection;
    if (pipe2(dial->pipe, O_CLOEXEC) != 0) {
        memory_free(&memory, dial);
        return NULL;
    }
    sigfillset(&all); /* signals go to the thread that blocks in poll(2) */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(&dial->thread, NULL, dial_thread, dial);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure) {
        free_dial(dial);
        return NULL;
    }
    return dial;
}

int dial_descriptor(const struct dial *dial)
{
    return dial->pipe[0];
}

enum driver_progress dial_end(struct dial *dial)
{
    pthread_join(dial->thread, NULL);
    enum driver_progress progress = dial->progress;
    free_dial(dial);
    return progress;
}

void dial_leave(struct dial *dial)
{
    pthread_detach(dial->thread);
    if (atomic_exchange(&dial->left, true))
        free_dial(dial);
}
