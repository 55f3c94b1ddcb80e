/* The log: lines go into a bounded queue, and a thread of its own writes them to a descriptor.
 *
 * log_put never waits. A descriptor that does not take anything (a pipe that nothing reads, a
 * stopped terminal, a hanging file system) stops the thread, not its callers. When the queue is
 * full, new lines are dropped and counted; a line of its own reports their number as soon as the
 * descriptor takes lines again. */
#pragma once

#include <gordian/gordian.h>

#define LOG_QUEUE_BYTES (256u << 10)
#define LOG_LINE_MAX    4000 /* bytes of a line; fewer than a pipe takes in one piece */

struct log_queue;

/* `fd` stays the caller's. `name` begins the line about dropped lines; the text outlives the
 * queue. On failure *out is NULL. */
gordian_status log_open(struct log_queue **out, int fd, const char *name, gordian_error *error);
/* Writes what the descriptor takes within `ms`, then ends, whatever the descriptor does. NULL is
 * fine. */
void log_close(struct log_queue *queue, unsigned ms);

/* A line, without its newline; any thread. A longer one is cut at LOG_LINE_MAX bytes. */
void log_put(struct log_queue *queue, const char *text, size_t length);
/* Lines that were dropped since the start because the queue was full. */
uint64_t log_dropped(struct log_queue *queue);
