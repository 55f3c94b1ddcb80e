#include "base/output.h"

#include "base/memory.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_SIZE (64u << 10)
#define IN_MEMORY   (-1)

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

bool output_close(struct output *out)
{
    gordian_allocator memory = memory_allocator(NULL);
    bool fine = output_flush(out);
    memory_free(&memory, out->buffer);
    out->buffer = NULL;
    out->used = out->room = 0;
    return fine;
}

static void write_all(struct output *out, const char *bytes, size_t count)
{
    while (count > 0 && !out->failure) {
        ssize_t written = write(out->fd, bytes, count);
        if (written >= 0) {
            bytes += written;
            count -= (size_t)written;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            poll(&(struct pollfd){.fd = out->fd, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR) {
            out->failure = errno;
        }
    }
}

bool output_flush(struct output *out)
{
    if (out->fd != IN_MEMORY) {
        write_all(out, out->buffer, out->used);
        out->used = 0;
    }
    return !out->failure;
}

/* Makes room for `count` more bytes in the buffer. */
static bool make_room(struct output *out, size_t count)
{
    if (out->failure)
        return false;
    if (out->room - out->used >= count)
        return true;
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

void output_bytes(struct output *out, const char *bytes, size_t count)
{
    if (out->fd != IN_MEMORY && count >= out->room) { /* too large to gain from buffering */
        if (output_flush(out))
            write_all(out, bytes, count);
        return;
    }
    if (!make_room(out, count))
        return;
    memcpy(out->buffer + out->used, bytes, count);
    out->used += count;
}

void output_text(struct output *out, const char *text)
{
    output_bytes(out, text, strlen(text));
}

void output_char(struct output *out, char c)
{
    if (make_room(out, 1))
        out->buffer[out->used++] = c;
}

void output_u64(struct output *out, uint64_t value)
{
    char digits[20];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    output_bytes(out, digits + first, sizeof digits - first);
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
        /* vsnprintf wants a byte for its NUL */
        if (make_room(out, (size_t)length + 1))
            vsnprintf(out->buffer + out->used, (size_t)length + 1, format, again);
        else
            length = -1;
    }
    if (length > 0)
        out->used += (size_t)length;
    va_end(again);
    va_end(arguments);
}
