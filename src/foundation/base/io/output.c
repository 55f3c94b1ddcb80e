#include "foundation/base/io/output.h"

#include "foundation/base/memory.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_SIZE (64u << 10)

bool output_open(struct output *out, int fd)
{
    gordian_allocator memory = memory_allocator(NULL);
    *out = (struct output){.fd = fd, .buffer = memory_alloc(&memory, BUFFER_SIZE)};
    if (!out->buffer) {
        out->failure = ENOMEM;
        return false;
    }
    out->room = BUFFER_SIZE;
    return true;
}

bool output_open_writer(struct output *out, const gordian_writer *writer)
{
    bool fine = output_open(out, OUTPUT_WRITER);
    out->writer = writer;
    return fine;
}

void output_fixed(struct output *out, char *buffer, size_t size)
{
    *out = (struct output){.fd = OUTPUT_FIXED, .buffer = buffer, .room = size ? size - 1 : 0};
}

size_t output_fixed_end(struct output *out)
{
    if (out->buffer)
        out->buffer[out->used < out->room ? out->used : out->room] = '\0';
    return out->used;
}

bool output_close(struct output *out)
{
    gordian_allocator memory = memory_allocator(NULL);
    bool fine = output_flush(out);
    memory_free(&memory, out->buffer);
    out->buffer = NULL;
    out->used = out->room = 0;
    return fine;
}

bool write_whole(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);
        if (written >= 0) {
            bytes += written;
            count -= (size_t)written;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

static void write_to_descriptor(struct output *out, const char *bytes, size_t count)
{
    const gordian_writer *writer = out->writer;
    if (out->failure || count == 0)
        return;
    if (!(writer ? writer->write(writer->context, bytes, count)
                 : write_whole(out->fd, bytes, count)))
        out->failure = errno ? errno : EIO;
}

bool output_flush(struct output *out)
{
    if (out->fd != OUTPUT_MEMORY) {
        write_to_descriptor(out, out->buffer, out->used);
        out->used = 0;
    }
    return !out->failure;
}

/* Reserves capacity for `count` more bytes in the buffer. */
static bool reserve_output(struct output *out, size_t count)
{
    if (out->failure)
        return false;
    if (out->used <= out->room && out->room - out->used >= count)
        return true;
    if (out->fd == OUTPUT_FIXED) {
        out->used += count;
        return false;
    }
    if (!output_flush(out))
        return false;
    if (out->room - out->used >= count)
        return true;
    gordian_allocator memory = memory_allocator(NULL);
    if (count > SIZE_MAX - out->used ||
        !memory_grow(&memory, &out->buffer, &out->room, out->used + count, 1)) {
        out->failure = ENOMEM;
        return false;
    }
    return true;
}

char *output_reserve(struct output *out, size_t count)
{
    return reserve_output(out, count) ? out->buffer + out->used : NULL;
}

void output_bytes(struct output *out, const char *bytes, size_t count)
{
    if (output_has(out, count + 1)) { /* a block as large as the buffer is written directly */
        memcpy(out->buffer + out->used, bytes, count);
        out->used += count;
        return;
    }
    if (out->fd == OUTPUT_FIXED && out->used <= out->room && out->room - out->used < count) {
        size_t fits = out->room - out->used; /* the rest is only counted */
        if (fits > 0)
            memcpy(out->buffer + out->used, bytes, fits);
    } else if (out->fd != OUTPUT_MEMORY && out->fd != OUTPUT_FIXED && count >= out->room) {
        /* Too large for the buffer. */
        if (output_flush(out))
            write_to_descriptor(out, bytes, count);
        return;
    }
    if (!reserve_output(out, count))
        return;
    memcpy(out->buffer + out->used, bytes, count);
    out->used += count;
}

void output_text(struct output *out, const char *text)
{
    output_bytes(out, text, strlen(text));
}

void output_char_slowly(struct output *out, char c)
{
    if (reserve_output(out, 1))
        out->buffer[out->used++] = c;
}

/* Writes the digits of a number, ending before `end`; returns the first. Two digits per step,
 * because each division depends on the previous one. */
static char *write_digits(char *end, uint32_t value)
{
    while (value >= 100) {
        uint32_t rest = value % 100;
        value /= 100;
        *--end = (char)('0' + rest % 10);
        *--end = (char)('0' + rest / 10);
    }
    *--end = (char)('0' + value % 10);
    if (value >= 10)
        *--end = (char)('0' + value / 10);
    return end;
}

void output_u64(struct output *out, uint64_t value)
{
    enum { HALF = 1000000000 }; /* the largest power of ten with a 32-bit remainder */
    char digits[30], *end = digits + sizeof digits, *first = end;
    for (; value >= HALF; value /= HALF) {
        char *to = first - 9;
        first = write_digits(first, (uint32_t)(value % HALF));
        while (first > to)
            *--first = '0';
    }
    first = write_digits(first, (uint32_t)value);
    output_bytes(out, first, (size_t)(end - first));
}

void output_i64(struct output *out, int64_t value)
{
    if (value < 0)
        output_char(out, '-');
    output_u64(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void output_format(struct output *out, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    size_t left = out->room - out->used;
    int length = out->failure ? -1 : vsnprintf(out->buffer + out->used, left, format, arguments);
    if (length >= 0 && (size_t)length >= left) {
        /* vsnprintf needs a byte for its NUL. */
        if (reserve_output(out, (size_t)length + 1))
            vsnprintf(out->buffer + out->used, (size_t)length + 1, format, again);
        else
            length = -1;
    }
    if (length > 0)
        out->used += (size_t)length;
    va_end(again);
    va_end(arguments);
}
