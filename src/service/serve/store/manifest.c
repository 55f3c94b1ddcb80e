/* The marker of a folder: reading, claiming and checking it. */
#include "service/serve/store/manifest.h"

#include "foundation/base/crc.h"
#include "foundation/base/error.h"
#include "service/serve/store/files.h"
#include "service/wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define VERSION 2
#define SIZE    32 /* bytes; the epoch, at offset 8, is aligned for an atomic load */
#define HALF    16 /* each half has its own checksum, so a torn write keeps both valid */
#define NEW     MARKER_FILE ".new"

static void put_marker(const struct marker *marker, uint8_t bytes[SIZE])
{
    memcpy(bytes, "GRDM", 4);
    wire_store64(bytes + 8, marker->epoch);
    wire_store32(bytes + 4, crc32c(0, bytes + 8, 8));
    wire_store64(bytes + HALF, marker->newest);
    wire_store32(bytes + HALF + 8, VERSION);
    wire_store32(bytes + HALF + 12, crc32c(0, bytes + HALF, 12));
}

/* format of version 1 */
static bool is_old(const uint8_t bytes[SIZE])
{
    return wire_load32(bytes + 4) == 1 && wire_load32(bytes + 24) == crc32c(0, bytes, 24);
}

static gordian_status get_marker(struct marker *marker, gordian_error *error)
{
    uint8_t bytes[SIZE];
    ssize_t got = pread(marker->fd, bytes, SIZE, 0);
    if (got < 0)
        return fail_disk(error, errno);
    if (got != SIZE || memcmp(bytes, "GRDM", 4) != 0)
        return fail(error, GORDIAN_STATUS_INPUT, "it is not a manifest");
    if (!is_old(bytes) && (wire_load32(bytes + 4) != crc32c(0, bytes + 8, 8) ||
                           wire_load32(bytes + HALF + 12) != crc32c(0, bytes + HALF, 12)))
        return fail(error, GORDIAN_STATUS_INPUT, "it fails its checksum");
    if (!is_old(bytes) && wire_load32(bytes + HALF + 8) != VERSION)
        return fail(error, GORDIAN_STATUS_INPUT, "it has version %u, this program reads %d",
                    wire_load32(bytes + HALF + 8), VERSION);
    marker->epoch = wire_load64(bytes + 8);
    marker->newest = wire_load64(bytes + HALF);
    return GORDIAN_OK;
}

gordian_status marker_open(struct marker *marker, int folder, gordian_error *error)
{
    *marker = (struct marker){.folder = folder, .fd = -1};
    marker->fd = openat(folder, MARKER_FILE, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (marker->fd < 0)
        return disk_step(errno == ENOENT, error);
    return get_marker(marker, error);
}

static bool write_marker(const struct marker *marker, int fd, bool sync)
{
    uint8_t bytes[SIZE];
    put_marker(marker, bytes);
    return file_write_bytes(fd, bytes, SIZE, 0) && (!sync || fsync(fd) == 0);
}

/* Made under another name first, because an incomplete one would look damaged. */
static gordian_status make_marker(struct marker *marker, gordian_error *error)
{
    marker->fd = replace_begin(marker->folder, NEW, 0600);
    if (marker->fd < 0 || !write_marker(marker, marker->fd, false) ||
        !replace_end(marker->folder, marker->fd, NEW, MARKER_FILE, NULL))
        return fail_disk(error, errno);
    return GORDIAN_OK;
}

static uint64_t load_epoch(const struct marker *marker)
{
    return atomic_load((const _Atomic uint64_t *)marker->mapped);
}

gordian_status marker_claim(struct marker *marker, gordian_error *error)
{
    marker->epoch++;
    if (marker->fd < 0)
        TRY(make_marker(marker, error));
    else if (!write_marker(marker, marker->fd, true))
        return fail_disk(error, errno);
    uint8_t *page = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, marker->fd, 0);
    if (page == MAP_FAILED)
        return fail_disk(error, errno);
    marker->mapped = (const uint64_t *)(const void *)(page + 8);
    marker->mine = load_epoch(marker);
    return GORDIAN_OK;
}

gordian_status marker_note(struct marker *marker, uint64_t newest, bool sync, gordian_error *error)
{
    if (marker->fd < 0 || (marker->newest == newest && !sync))
        return GORDIAN_OK;
    TRY(marker->mapped ? marker_check(marker, error) : GORDIAN_OK);
    marker->newest = newest;
    return disk_step(write_marker(marker, marker->fd, sync), error);
}

gordian_status marker_check(const struct marker *marker, gordian_error *error)
{
    if (load_epoch(marker) == marker->mine)
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                "another gordian serve has taken over the folder: stop this one");
}

bool marker_is_ours(const struct marker *marker)
{
    return file_is_same(marker->fd, marker->folder, MARKER_FILE);
}

void marker_close(struct marker *marker)
{
    if (marker->mapped)
        munmap((void *)((uintptr_t)marker->mapped - 8), SIZE);
    file_close(marker->fd);
    *marker = (struct marker){.folder = -1, .fd = -1};
}
