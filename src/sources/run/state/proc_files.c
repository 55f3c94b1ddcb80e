#include "sources/run/state/proc_files.h"

#include "sources/run/state/arena.h"
#include "sources/run/state/shield.h"
#include "sources/run/state/system_call.h"

#include <string.h>

/* Reads a file byte by byte through a small buffer. A shield keeps the thread from ending while the
 * file is open. */
struct stream {
    struct shield shield;
    int fd;
    long at, end;
    char buffer[1024];
};

static bool open_stream(struct stream *stream, const char *path)
{
    shield_raise(&stream->shield);
    stream->fd = sys_open(path, O_RDONLY);
    if (stream->fd < 0)
        shield_lower(&stream->shield);
    return stream->fd >= 0;
}

static void close_stream(const struct stream *stream)
{
    sys_close(stream->fd);
    shield_lower(&stream->shield);
}

static int next_byte(struct stream *stream)
{
    if (stream->at == stream->end) {
        stream->end = sys_read(stream->fd, stream->buffer, sizeof stream->buffer);
        stream->at = 0;
        if (stream->end <= 0)
            return stream->end = 0, -1;
    }
    return (unsigned char)stream->buffer[stream->at++];
}

/* Reads a hexadecimal number, and returns the byte after it. */
static int read_hex(struct stream *stream, uint64_t *value)
{
    *value = 0;
    for (;;) {
        int c = next_byte(stream);
        if (c >= '0' && c <= '9')
            *value = *value << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            *value = *value << 4 | (uint64_t)(c - 'a' + 10);
        else
            return c;
    }
}

/* Parses "low-high perms offset device inode path". False at the end of the file. */
static bool read_region(struct stream *stream, struct region *region)
{
    uint64_t low, high, ignored;
    if (read_hex(stream, &low) != '-' || read_hex(stream, &high) != ' ')
        return false;
    region->low = (uintptr_t)low;
    region->high = (uintptr_t)high;
    char permissions[4];
    for (int i = 0; i < 4; i++)
        permissions[i] = (char)next_byte(stream);
    region->shared = permissions[3] == 's';
    next_byte(stream);
    read_hex(stream, &region->offset);
    read_hex(stream, &ignored); /* device */
    read_hex(stream, &ignored);
    int c = read_hex(stream, &ignored); /* inode */
    while (c == ' ' || (c >= '0' && c <= '9'))
        c = next_byte(stream);
    size_t length = 0;
    for (; c >= 0 && c != '\n'; c = next_byte(stream))
        if (length < sizeof region->path - 1)
            region->path[length++] = (char)c;
    region->path[length] = '\0';
    region->anonymous = region->shared && strncmp(region->path, "/dev/zero", 9) == 0;
    return c >= 0;
}

bool maps_find(uintptr_t address, struct region *region)
{
    struct stream stream = {.fd = -1};
    if (!open_stream(&stream, "/proc/self/maps"))
        return false;
    bool found = false;
    while (!found && read_region(&stream, region))
        found = address >= region->low && address < region->high;
    close_stream(&stream);
    return found;
}

bool maps_shared(uintptr_t address)
{
    struct region region;
    return !maps_find(address, &region) || region.shared;
}

#define KEPT_MOST ((size_t)1 << 20)

static char *kept;
static size_t kept_size;

void maps_keep(void)
{
    int fd = sys_open("/proc/self/maps", O_RDONLY);
    long length = 1;
    kept = fd >= 0 ? pages_map(KEPT_MOST) : NULL;
    for (kept_size = 0; kept && length > 0 && kept_size < KEPT_MOST; kept_size += (size_t)length) {
        length = sys_read(fd, kept + kept_size, KEPT_MOST - kept_size);
        length = length > 0 ? length : 0;
    }
    if (fd >= 0)
        sys_close(fd);
}

const char *maps_kept(size_t *size)
{
    *size = kept_size;
    return kept;
}

static bool read_line_value(const char *path, const char *word, unsigned base, uint64_t *value)
{
    struct stream stream = {.fd = -1};
    if (!open_stream(&stream, path))
        return false;
    size_t matched = 0;
    bool start = true;
    int c = 0;
    while (word[matched] && (c = next_byte(&stream)) >= 0) {
        matched = (start || matched) && c == word[matched] ? matched + 1 : 0;
        start = c == '\n';
    }
    bool found = !word[matched];
    while (found && ((c = next_byte(&stream)) == ' ' || c == '\t'))
        ;
    for (*value = 0; found; c = next_byte(&stream)) {
        unsigned digit = c >= '0' && c <= '9' ? (unsigned)c - '0' : (unsigned)c - 'a' + 10;
        if (digit >= base)
            break;
        *value = *value * base + digit;
    }
    close_stream(&stream);
    return found;
}

bool read_line_hex(const char *path, const char *word, uint64_t *value)
{
    return read_line_value(path, word, 16, value);
}

bool read_line_number(const char *path, const char *word, uint64_t *value)
{
    return read_line_value(path, word, 10, value);
}

long read_small(const char *path, char *buffer, size_t room)
{
    struct shield shield;
    shield_raise(&shield);
    int fd = sys_open(path, O_RDONLY);
    long length = fd < 0 ? -1 : sys_read(fd, buffer, room - 1);
    if (fd >= 0)
        sys_close(fd);
    shield_lower(&shield);
    if (length >= 0)
        buffer[length] = '\0';
    return length;
}
