/* A layer under SQLite that fails when it is told to: a full, read-only or broken disk on demand,
 * without root. Registered as "failing", on top of the usual one. */
#ifndef GORDIAN_TESTS_FAILING_VFS_H
#define GORDIAN_TESTS_FAILING_VFS_H

#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* A code of SQLite that writes, syncs give; 0: they work. */
static _Atomic int failing_write, failing_sync;

/* So many writes from now one finds the disk full, and so many behind it, or the process dies
 * before it; 0: never. Likewise a sync that fails. */
static _Atomic int failing_full_in, failing_full_for, failing_death_in, failing_sync_in;

/* No file of so many bytes or more may grow; 0: all may. */
static _Atomic sqlite3_int64 failing_size_max;

/* The index of the log cannot grow: the disk is full at that very moment. */
static _Atomic bool failing_map;

struct failing_file {
    sqlite3_file base;
    sqlite3_file *real; /* right behind this */
};

static sqlite3_file *failing_real(sqlite3_file *file)
{
    return ((struct failing_file *)file)->real;
}

static int failing_close(sqlite3_file *file)
{
    sqlite3_file *real = failing_real(file);
    return real->pMethods->xClose(real);
}

static int failing_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset)
{
    sqlite3_file *real = failing_real(file);
    return real->pMethods->xRead(real, bytes, count, offset);
}

static bool failing_growth(sqlite3_file *real, sqlite3_int64 end)
{
    sqlite3_int64 size = 0;
    return failing_size_max > 0 && end > failing_size_max &&
           real->pMethods->xFileSize(real, &size) == SQLITE_OK && end > size;
}

static int failing_write_to(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset)
{
    sqlite3_file *real = failing_real(file);
    int code = failing_write;
    if (failing_death_in > 0 && atomic_fetch_sub(&failing_death_in, 1) == 1)
        kill(getpid(), SIGKILL);
    if (failing_full_in > 0) {
        atomic_fetch_sub(&failing_full_in, 1);
    } else if (failing_full_for > 0) {
        atomic_fetch_sub(&failing_full_for, 1);
        return SQLITE_FULL;
    }
    if (failing_growth(real, offset + count))
        return SQLITE_FULL;
    return code ? code : real->pMethods->xWrite(real, bytes, count, offset);
}

static int failing_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    sqlite3_file *real = failing_real(file);
    int code = failing_write;
    return code ? code : real->pMethods->xTruncate(real, size);
}

static int failing_sync_it(sqlite3_file *file, int flags)
{
    sqlite3_file *real = failing_real(file);
    int code = failing_sync;
    if (failing_sync_in > 0 && atomic_fetch_sub(&failing_sync_in, 1) == 1)
        return SQLITE_IOERR_FSYNC;
    return code ? code : real->pMethods->xSync(real, flags);
}

static int failing_size(sqlite3_file *file, sqlite3_int64 *size)
{
    sqlite3_file *real = failing_real(file);
    return real->pMethods->xFileSize(real, size);
}

static int failing_lock(sqlite3_file *file, int level)
{
    sqlite3_file *real = failing_real(file);
    return real->pMethods->xLock(real, level);
}

static int failing_unlock(sqlite3_file *file, int level)
{
    sqlite3_file *real = failing_real(file);
    return real->pMethods->xUnlock(real, level);
}

static int failing_reserved(sqlite3_file *file, int *reserved)
{
    sqlite3_file *real = failing_real(file);
    return real->pMethods->xCheckReservedLock(real, reserved);
}

static int failing_control(sqlite3_file *file, int what, void *argument)
{
    sqlite3_file *real = failing_real(file);
    return real->pMethods->xFileControl(real, what, argument);
}

static int failing_sector(sqlite3_file *file)
{
    sqlite3_file *real = failing_real(file);
    return real->pMethods->xSectorSize(real);
}

static int failing_traits(sqlite3_file *file)
{
    sqlite3_file *real = failing_real(file);
    return real->pMethods->xDeviceCharacteristics(real);
}

static int failing_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **at)
{
    sqlite3_file *real = failing_real(file);
    if (failing_map && page > 0 && extend)
        return SQLITE_IOERR_SHMSIZE;
    return real->pMethods->xShmMap(real, page, size, extend, at);
}

static int failing_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    sqlite3_file *real = failing_real(file);
    return real->pMethods->xShmLock(real, offset, count, flags);
}

static void failing_shm_barrier(sqlite3_file *file)
{
    sqlite3_file *real = failing_real(file);
    real->pMethods->xShmBarrier(real);
}

static int failing_shm_unmap(sqlite3_file *file, int drop)
{
    sqlite3_file *real = failing_real(file);
    return real->pMethods->xShmUnmap(real, drop);
}

static const sqlite3_io_methods failing_methods = {
    .iVersion = 2,
    .xClose = failing_close,
    .xRead = failing_read,
    .xWrite = failing_write_to,
    .xTruncate = failing_truncate,
    .xSync = failing_sync_it,
    .xFileSize = failing_size,
    .xLock = failing_lock,
    .xUnlock = failing_unlock,
    .xCheckReservedLock = failing_reserved,
    .xFileControl = failing_control,
    .xSectorSize = failing_sector,
    .xDeviceCharacteristics = failing_traits,
    .xShmMap = failing_shm_map,
    .xShmLock = failing_shm_lock,
    .xShmBarrier = failing_shm_barrier,
    .xShmUnmap = failing_shm_unmap,
};

static int failing_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                        int *out_flags)
{
    sqlite3_vfs *usual = vfs->pAppData;
    struct failing_file *mine = (struct failing_file *)file;
    mine->real = (sqlite3_file *)(mine + 1);
    int code = usual->xOpen(usual, name, mine->real, flags, out_flags);
    file->pMethods = mine->real->pMethods ? &failing_methods : NULL;
    return code;
}

static void failing_register(void)
{
    static sqlite3_vfs vfs;
    sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
    vfs = *usual;
    vfs.zName = "failing";
    vfs.szOsFile = (int)sizeof(struct failing_file) + usual->szOsFile;
    vfs.pAppData = usual;
    vfs.pNext = NULL;
    vfs.xOpen = failing_open;
    sqlite3_vfs_register(&vfs, 0);
}

#endif
