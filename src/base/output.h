/* Buffered output to a file descriptor. The first failing write is remembered
 * (errno kept) and the rest dropped, so the caller checks once, at the end. */
#ifndef GORDIAN_BASE_OUTPUT_H
#define GORDIAN_BASE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output {
    int fd;      /* -1: keep everything in memory (grow) */
    int failure; /* errno of the first failure, 0: none */
    char *buffer;
    size_t used, room;
};

/* `fd` -1 collects in memory: text in buffer[0..used), not NUL-terminated. */
bool output_open(struct output *out, int fd);
/* Flushes and frees the buffer; false if any write failed (out->failure). The fd stays open. */
bool output_close(struct output *out);
bool output_flush(struct output *out);

void output_bytes(struct output *out, const char *bytes, size_t count);
void output_text(struct output *out, const char *text);
void output_char(struct output *out, char c);
void output_u64(struct output *out, uint64_t value);
void output_i64(struct output *out, int64_t value);
void output_format(struct output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
