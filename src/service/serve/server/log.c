/* The log: a bounded queue of lines and the thread that writes them. */
#define _GNU_SOURCE /* memrchr */
#include "service/serve/server/log.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PIECE   4096 /* bytes per write: a writable pipe accepts this many */
#define POLL_MS 50   /* polling interval while the descriptor is not writable */

struct log_queue {
    int fd;
    const char *name;
    pthread_t thread;
    pthread_mutex_t mutex; /* of everything below */
    pthread_cond_t wake;   /* for the thread: there is a line, or it must end */
    pthread_cond_t ended;
    bool stopping, done;
    uint64_t deadline;          /* ns, when stopping */
    uint64_t dropped, reported; /* numbers of lines */
    size_t first, used;         /* of the ring, which contains whole lines */
    char ring[LOG_QUEUE_BYTES];
};

/* ------------------------------------------------------------------ the ring; under the mutex */

static void ring_put(struct log_queue *queue, const char *text, size_t length)
{
    size_t at = (queue->first + queue->used) % sizeof queue->ring;
    size_t front = sizeof queue->ring - at;
    front = front < length ? front : length;
    memcpy(queue->ring + at, text, front);
    memcpy(queue->ring, text + front, length - front);
    queue->used += length;
}

/* Takes as many whole lines as fit into a piece. Returns their length. */
static size_t ring_take(struct log_queue *queue, char piece[PIECE])
{
    size_t length = queue->used < PIECE ? queue->used : PIECE;
    size_t front = sizeof queue->ring - queue->first;
    front = front < length ? front : length;
    memcpy(piece, queue->ring + queue->first, front);
    memcpy(piece + front, queue->ring, length - front);
    length = (size_t)((const char *)memrchr(piece, '\n', length) - piece) + 1;
    queue->first = (queue->first + length) % sizeof queue->ring;
    queue->used -= length;
    return length;
}

/* Formats the line about dropped lines. 0: none were dropped. */
static size_t report_dropped(struct log_queue *queue, char piece[PIECE])
{
    uint64_t count = queue->dropped - queue->reported;
    if (count == 0)
        return 0;
    queue->reported = queue->dropped;
    return (size_t)snprintf(piece, PIECE,
                            "%.100s%llu log lines were dropped: they were not read in time\n",
                            queue->name, (unsigned long long)count);
}

/* ------------------------------------------------------------------ the thread */

/* Returns false if the thread must end. If the descriptor fails permanently, the piece is lost:
 * there is no other place to report it. */
static bool write_log_piece(struct log_queue *queue, const char *piece, size_t length)
{
    while (length > 0) {
        struct pollfd door = {.fd = queue->fd, .events = POLLOUT};
        int ready = poll(&door, 1, POLL_MS);
        if (ready == 0 || (ready < 0 && errno == EINTR)) {
            pthread_mutex_lock(&queue->mutex);
            bool end = queue->stopping && clock_ns() >= queue->deadline;
            pthread_mutex_unlock(&queue->mutex);
            if (end)
                return false;
            continue;
        }
        ssize_t count = write(queue->fd, piece, length);
        if (count < 0 && errno != EINTR && errno != EAGAIN)
            return true;
        piece += count > 0 ? count : 0;
        length -= count > 0 ? (size_t)count : 0;
    }
    return true;
}

static void *write_lines(void *context)
{
    /* Between two servers SIGTERM has no handler and is blocked in the other thread; in this thread
     * it would end the process. */
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    struct log_queue *queue = context;
    char piece[PIECE];
    bool going = true;
    pthread_mutex_lock(&queue->mutex);
    while (going) {
        size_t length = queue->used > 0 ? ring_take(queue, piece) : report_dropped(queue, piece);
        if (length == 0 && queue->stopping)
            break;
        if (length == 0) {
            pthread_cond_wait(&queue->wake, &queue->mutex);
            continue;
        }
        pthread_mutex_unlock(&queue->mutex);
        going = write_log_piece(queue, piece, length);
        pthread_mutex_lock(&queue->mutex);
    }
    queue->done = true;
    pthread_cond_signal(&queue->ended);
    pthread_mutex_unlock(&queue->mutex);
    return NULL;
}

/* ------------------------------------------------------------------ opening and closing */

static void init_log_locks(struct log_queue *queue)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->wake, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&queue->ended, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void free_queue(struct log_queue *queue)
{
    gordian_allocator memory = memory_allocator(NULL);
    pthread_mutex_destroy(&queue->mutex);
    pthread_cond_destroy(&queue->wake);
    pthread_cond_destroy(&queue->ended);
    memory_free(&memory, queue);
}

gordian_status log_open(struct log_queue **out, int fd, const char *name, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL); /* used by any thread */
    struct log_queue *queue = memory_zeroed(&memory, sizeof *queue);
    *out = NULL;
    if (!queue)
        return fail_memory(error);
    queue->fd = fd;
    queue->name = name;
    init_log_locks(queue);
    int code = pthread_create(&queue->thread, NULL, write_lines, queue);
    if (code) {
        free_queue(queue);
        return fail(error, GORDIAN_STATUS_MEMORY, "cannot start a thread: %s", strerror(code));
    }
    *out = queue;
    return GORDIAN_OK;
}

void log_close(struct log_queue *queue, unsigned ms)
{
    if (!queue)
        return;
    pthread_mutex_lock(&queue->mutex);
    queue->stopping = true;
    queue->deadline = clock_ns() + (uint64_t)ms * 1000000;
    pthread_cond_signal(&queue->wake);
    /* The thread ends within POLL_MS after the deadline, unless write(2) hangs. */
    uint64_t until = queue->deadline + (uint64_t)20 * POLL_MS * 1000000;
    struct timespec limit = {.tv_sec = (time_t)(until / 1000000000),
                             .tv_nsec = (long)(until % 1000000000)};
    int code = 0;
    while (!queue->done && code != ETIMEDOUT)
        code = pthread_cond_timedwait(&queue->ended, &queue->mutex, &limit);
    bool done = queue->done;
    pthread_mutex_unlock(&queue->mutex);
    if (!done) { /* the thread still uses the queue: leave both to the end of the process */
        pthread_detach(queue->thread);
        return;
    }
    pthread_join(queue->thread, NULL);
    free_queue(queue);
}

/* ------------------------------------------------------------------ lines */

void log_put(struct log_queue *queue, const char *text, size_t length)
{
    length = length < LOG_LINE_MAX ? length : LOG_LINE_MAX;
    pthread_mutex_lock(&queue->mutex);
    if (sizeof queue->ring - queue->used < length + 1) {
        queue->dropped++;
    } else {
        ring_put(queue, text, length);
        ring_put(queue, "\n", 1);
        pthread_cond_signal(&queue->wake);
    }
    pthread_mutex_unlock(&queue->mutex);
}

uint64_t log_dropped(struct log_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    uint64_t count = queue->dropped;
    pthread_mutex_unlock(&queue->mutex);
    return count;
}
