/* Buffered output to a file descriptor, a writer or a buffer. The first failing write is remembered
 * (errno kept) and the rest dropped, so the caller checks once, at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gordian_writer;

enum {
    OUTPUT_MEMORY = -1, /* keeps everything, and grows */
    OUTPUT_WRITER = -2,
    OUTPUT_FIXED = -3, /* keeps what fits; `used` counts all */
};

struct output {
    int fd;      /* or one of these: */
    int failure; /* errno of the first failure, 0: none */
    char *buffer;
    size_t used, room;
    const struct gordian_writer *writer;
};

/* `fd` -1 collects in memory: text in buffer[0..used), not NUL-terminated. */
bool output_open(struct output *out, int fd);
/* Writes to the writer, which must outlive it. */
bool output_open_writer(struct output *out, const struct gordian_writer *writer);
/* Into a caller's buffer; not for output_format. output_fixed_end ends the text with a NUL and
 * tells how long it is, or would have been. */
void output_fixed(struct output *out, char *buffer, size_t size);
size_t output_fixed_end(struct output *out);
/* Flushes and frees the buffer; false if any write failed (out->failure). The fd stays open. */
bool output_close(struct output *out);
bool output_flush(struct output *out);

/* Is there room for so many bytes, and need nothing be done about it? */
static inline bool output_has(const struct output *out, size_t count)
{
    return !out->failure && out->used <= out->room && out->room - out->used >= count;
}

/* Room for so many bytes behind `used`, which the caller moves; NULL: a failure. */
char *output_room(struct output *out, size_t count);

/* Writes all of it to a descriptor, whatever interrupts; false: errno says why. */
bool write_whole(int fd, const char *bytes, size_t count);

void output_bytes(struct output *out, const char *bytes, size_t count);
void output_text(struct output *out, const char *text);
void output_char_slowly(struct output *out, char c);
static inline void output_char(struct output *out, char c)
{
    if (output_has(out, 1))
        out->buffer[out->used++] = c;
    else
        output_char_slowly(out, c);
}
void output_u64(struct output *out, uint64_t value);
void output_i64(struct output *out, int64_t value);
void output_format(struct output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
