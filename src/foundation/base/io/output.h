/* Buffered output to a file descriptor, a writer or a buffer. The first failure is remembered
 * (errno), and later output is dropped, so that the caller checks once, at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gordian_writer;

enum {
    OUTPUT_MEMORY = -1, /* collects everything and grows */
    OUTPUT_WRITER = -2,
    OUTPUT_FIXED = -3, /* keeps what fits; `used` counts everything */
};

struct output {
    int fd;      /* a descriptor, or one of these constants */
    int failure; /* errno of the first failure, 0: none */
    char *buffer;
    size_t used, room;
    const struct gordian_writer *writer;
};

/* `fd` OUTPUT_MEMORY collects the text in buffer[0..used), without a NUL. */
bool output_open(struct output *out, int fd);
/* Writes to a writer, which must outlive the output. */
bool output_open_writer(struct output *out, const struct gordian_writer *writer);
/* Writes into a caller's buffer. output_format must not be used on it. output_fixed_end adds a NUL
 * and returns the length of the whole text, which may exceed the buffer. */
void output_fixed(struct output *out, char *buffer, size_t size);
size_t output_fixed_end(struct output *out);
/* Flushes and frees the buffer. False: a write failed (out->failure). The descriptor stays open. */
bool output_close(struct output *out);
bool output_flush(struct output *out);

/* Is there capacity for `count` more bytes, and no failure? */
static inline bool output_has(const struct output *out, size_t count)
{
    return !out->failure && out->used <= out->room && out->room - out->used >= count;
}

/* Returns space for `count` bytes behind `used`, which the caller increments. NULL: failed. */
char *output_reserve(struct output *out, size_t count);

/* Writes everything to a descriptor, also after interrupts. False: failed, see errno. */
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
