/* The log: a bounded queue of lines, which a thread writes to a descriptor.
 *
 * log_put never blocks. A descriptor that accepts nothing (a pipe that nothing reads, a stopped
 * terminal, a hanging file system) blocks the thread, not its callers. When the queue is full, new
 * lines are dropped and counted; a line reports their number as soon as the descriptor accepts
 * lines again.
 */
#pragma once

#include <gordian/gordian.h>

#define LOG_QUEUE_BYTES (256u << 10)
#define LOG_LINE_MAX    4000 /* maximum bytes of a line; below the size of a pipe */

struct log_queue;

/* The caller keeps `fd`. `name` begins the line about dropped lines, and must outlive the queue. On
 * failure *out is NULL. */
gordian_status log_open(struct log_queue **out, int fd, const char *name, gordian_error *error);
/* Writes for at most `ms`, then ends in any case. NULL is allowed. */
void log_close(struct log_queue *queue, unsigned ms);

/* Adds a line without its newline; any thread. Cuts it at LOG_LINE_MAX bytes. */
void log_put(struct log_queue *queue, const char *text, size_t length);
/* Returns the number of lines dropped because the queue was full. */
uint64_t log_dropped(struct log_queue *queue);
