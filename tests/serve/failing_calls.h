/* A disk that is full, read-only or broken on demand, without root: calls of the system that fail,
 * or during which the process dies, when they are told to. The store and SQLite use these instead
 * of the C library's. Syncs that work do nothing: no test cuts the power, and on a busy disk they
 * take most of the time. */
#ifndef GORDIAN_TESTS_FAILING_CALLS_H
#define GORDIAN_TESTS_FAILING_CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The errno that writes, syncs give; 0: they work. */
static _Atomic int failing_write, failing_sync;

/* So many writes from now one finds the disk full, and so many behind it, or the process dies in
 * it; 0: never. What is written before that happens is half of it. Likewise a sync that fails. */
static _Atomic int failing_full_in, failing_full_for, failing_death_in, failing_sync_in;

/* No file of so many bytes or more may grow; 0: all may. */
static _Atomic off_t failing_size_max;

/* So many syncs of a file's bytes fail. */
static _Atomic int calls_sync_fails;
/* So many renames and syncs of files and folders from now the process dies before one; 0: never. */
static _Atomic int calls_death_in;
/* A file of this inode has been synced so many times. */
static _Atomic ino_t calls_watched;
static _Atomic int calls_seen;

static void calls_die(void)
{
    if (calls_death_in > 0 && atomic_fetch_sub(&calls_death_in, 1) == 1)
        kill(getpid(), SIGKILL);
}

/* ---- writes */

static bool calls_must_not_grow(int fd, off_t end)
{
    struct stat about;
    return failing_size_max > 0 && end > failing_size_max && fstat(fd, &about) == 0 &&
           end > about.st_size;
}

/* errno for a write that must fail, 0: it must not. *half: of it is written nevertheless. */
static int calls_trouble(int fd, off_t end, bool *half)
{
    if (failing_write)
        return failing_write;
    if (failing_full_in > 0) {
        atomic_fetch_sub(&failing_full_in, 1);
    } else if (failing_full_for > 0) {
        atomic_fetch_sub(&failing_full_for, 1);
        *half = true;
        return ENOSPC;
    }
    return calls_must_not_grow(fd, end) ? ENOSPC : 0;
}

static ssize_t calls_put(int fd, const void *bytes, size_t count, off_t offset)
{
    return syscall(SYS_pwrite64, fd, bytes, count, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
    bool half = false;
    bool dies = failing_death_in > 0 && atomic_fetch_sub(&failing_death_in, 1) == 1;
    int trouble = dies ? 0 : calls_trouble(fd, offset + (off_t)count, &half);
    if (half || dies)
        calls_put(fd, bytes, count / 2, offset);
    if (dies)
        kill(getpid(), SIGKILL);
    errno = trouble;
    return trouble ? -1 : calls_put(fd, bytes, count, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    ssize_t written = 0;
    size_t size = 0;
    for (int i = 0; i < count; i++)
        size += parts[i].iov_len;
    uint8_t *bytes = malloc(size + 1);
    if (!bytes)
        return -1;
    for (int i = 0; i < count; written += (ssize_t)parts[i++].iov_len)
        if (parts[i].iov_len)
            memcpy(bytes + written, parts[i].iov_base, parts[i].iov_len);
    written = pwrite(fd, bytes, size, offset);
    int trouble = errno;
    free(bytes);
    errno = trouble;
    return written;
}

int ftruncate(int fd, off_t size)
{
    errno = failing_write;
    return failing_write ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}

int fallocate(int fd, int mode, off_t offset, off_t count)
{
    errno = failing_write ? failing_write : ENOSPC;
    return failing_write || calls_must_not_grow(fd, offset + count)
               ? -1
               : (int)syscall(SYS_fallocate, fd, mode, offset, count);
}

/* ---- syncs and names */

static int calls_sync(int fd)
{
    struct stat about;
    calls_die();
    bool fails = failing_sync_in > 0 && atomic_fetch_sub(&failing_sync_in, 1) == 1;
    errno = failing_sync ? failing_sync : EIO;
    if (fails || failing_sync || fstat(fd, &about) != 0)
        return -1;
    calls_seen += about.st_ino == calls_watched;
    return 0;
}

int fdatasync(int fd)
{
    if (calls_sync_fails > 0) {
        atomic_fetch_sub(&calls_sync_fails, 1);
        errno = EIO;
        return -1;
    }
    return calls_sync(fd);
}

int fsync(int fd)
{
    return calls_sync(fd);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    calls_die();
    return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

#endif
