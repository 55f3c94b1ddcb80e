/* Calls of the system that fail, or before which the process dies, when they are told to; the store
 * and SQLite use these instead of the C library's. Syncs that work do nothing: no test cuts the
 * power, and on a busy disk they take most of the time. */
#ifndef GORDIAN_TESTS_FAILING_CALLS_H
#define GORDIAN_TESTS_FAILING_CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

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

int fdatasync(int fd)
{
    calls_die();
    if (calls_sync_fails > 0) {
        atomic_fetch_sub(&calls_sync_fails, 1);
        errno = EIO;
        return -1;
    }
    return fcntl(fd, F_GETFD) < 0 ? -1 : 0;
}

int fsync(int fd)
{
    struct stat about;
    calls_die();
    if (fstat(fd, &about) != 0)
        return -1;
    calls_seen += about.st_ino == calls_watched;
    return 0;
}

int rename(const char *from, const char *to)
{
    calls_die();
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

#endif
