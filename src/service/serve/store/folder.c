/* The store's folder: its lock, the previous run, and missing files. */
#include "foundation/base/error.h"
#include "service/serve/store/files.h"
#include "service/serve/store/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- boot id of the machine */

#define BOOT_MAX 40

static void read_boot(char boot[BOOT_MAX])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, boot, BOOT_MAX - 1);
    file_close(fd);
    boot[got > 0 ? got : 0] = '\0';
    boot[strcspn(boot, "\n")] = '\0';
}

/* ---- the lock file: "PID BOOT DURABILITY\n" while a process uses the folder, empty otherwise */

#define LINE_MAX_ 128

static void read_lock_line(int fd, char line[LINE_MAX_])
{
    ssize_t got = pread(fd, line, LINE_MAX_ - 1, 0);
    line[got > 0 ? got : 0] = '\0';
}

static void read_past(int fd, bool known, struct folder_past *past)
{
    char line[LINE_MAX_], boot[BOOT_MAX], was[BOOT_MAX] = "", durability[16] = "";
    long pid;
    read_lock_line(fd, line);
    read_boot(boot);
    *past = (struct folder_past){.killed = !known, .same_boot = !known};
    if (sscanf(line, "%ld %39s %15s", &pid, was, durability) != 3)
        return;
    past->killed = true;
    past->same_boot = boot[0] && strcmp(was, boot) == 0;
    past->synced = strcmp(durability, "full") == 0;
}

void folder_read_past(int folder, struct folder_past *past)
{
    int fd = openat(folder, "lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    read_past(fd, fd >= 0, past);
    file_close(fd);
}

static gordian_status fail_locked(const struct folder *folder, gordian_error *error)
{
    char line[LINE_MAX_];
    long pid = 0;
    read_lock_line(folder->lock, line);
    sscanf(line, "%ld", &pid);
    return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                "%.200s: another gordian serve%s%.0ld%s uses this folder: use a folder for each",
                folder->path, pid ? ", process " : "", pid, pid ? "," : "");
}

static char *join_path(const char *path, const char *name, const gordian_allocator *memory)
{
    size_t size = strlen(path) + strlen(name) + 2;
    char *joined = memory_alloc(memory, size);
    if (joined)
        snprintf(joined, size, "%s/%s", path, name);
    return joined;
}

static gordian_status fail_folder_file(const struct folder *folder, const char *name,
                                       gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_IO, "%.200s%s: %s", folder->path, name, strerror(errno));
}

/* Locks the folder as well as the file, because the file can be removed. *known: the lock file
 * existed. */
static gordian_status take_folder_lock(struct folder *folder, bool *known, gordian_error *error)
{
    *known = file_exists(folder->fd, "lock");
    folder->lock = openat(folder->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (folder->lock >= 0 && flock(folder->lock, LOCK_EX | LOCK_NB) == 0 &&
        flock(folder->fd, LOCK_EX | LOCK_NB) == 0)
        return GORDIAN_OK;
    return folder->lock >= 0 && errno == EWOULDBLOCK ? fail_locked(folder, error)
                                                     : fail_folder_file(folder, "/lock", error);
}

/* A process that can write to the folder can replace our files. */
static gordian_status check_mode(const struct folder *folder, gordian_error *error)
{
    struct stat about;
    if (fstat(folder->fd, &about) != 0)
        return fail_folder_file(folder, "", error);
    if (about.st_mode & (S_IWGRP | S_IWOTH))
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%.200s: other users can write to this folder (mode %04o): chmod go-w, or use "
                    "a folder of its own",
                    folder->path, (unsigned)(about.st_mode & 07777));
    return GORDIAN_OK;
}

gordian_status folder_open(struct folder *folder, const char *path, struct folder_past *past,
                           const gordian_allocator *memory, gordian_error *error)
{
    *folder = (struct folder){.fd = -1, .lock = -1, .marker.fd = -1};
    struct stat there;
    folder->made = mkdir(path, 0700) == 0;
    if (!folder->made && errno == ENOENT)
        return fail(error, GORDIAN_STATUS_IO,
                    "cannot make the folder %.200s: its parent folder does not exist", path);
    if (!folder->made && errno != EEXIST)
        return fail(error, GORDIAN_STATUS_IO, "cannot make the folder %.200s: %s", path,
                    strerror(errno));
    if (stat(path, &there) == 0 && !S_ISDIR(there.st_mode))
        return fail(error, GORDIAN_STATUS_IO, "%.200s is not a folder", path);
    folder->path = join_path(path, "", memory);
    folder->file = join_path(path, HISTORY_FILE, memory);
    if (!folder->path || !folder->file)
        return fail_memory(error); /* the caller closes the folder */
    folder->path[strlen(path)] = '\0';
    folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool known = false;
    TRY(folder->fd < 0 ? fail_folder_file(folder, "", error) : check_mode(folder, error));
    TRY(take_folder_lock(folder, &known, error));
    read_past(folder->lock, known, past);
    return GORDIAN_OK;
}

/* ---- checking that nothing is missing */

/* Names that do not show whether there is a database. */
static bool is_nothing(const char *name)
{
    static const char *const names[] = {
        "lock",         "lost+found",       "journal-spare",    "journal.new",
        "snapshot.new", MARKER_FILE ".new", HISTORY_FILE ".new"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return name[0] == '.' || strncmp(name, HISTORY_FILE, strlen(HISTORY_FILE)) == 0 ||
           strcmp(name, MARKER_FILE) == 0 || strstr(name, ".damaged-");
}

gordian_status folder_list(int folder, const struct marker *marker,
                           struct folder_contents *contents, gordian_error *error)
{
    uint64_t number, newest = marker->newest;
    struct stat there;
    DIR *list = files_list(folder);
    if (!list)
        return fail_disk(error, errno);
    *contents = (struct folder_contents){.newest = newest == 0};
    contents->database = fstatat(folder, HISTORY_FILE, &there, AT_SYMLINK_NOFOLLOW) == 0;
    contents->blank =
        contents->database && there.st_size == 0 && !file_exists(folder, HISTORY_FILE "-wal");
    for (const struct dirent *entry; (entry = readdir(list));)
        if (file_number(entry->d_name, "journal", &number)) {
            contents->journal = true;
            contents->newest |= number == newest;
        } else if (file_number(entry->d_name, "snapshot", &number)) {
            contents->snapshot = true;
        } else if (!is_nothing(entry->d_name)) {
            contents->others = true;
        }
    closedir(list);
    return GORDIAN_OK;
}

bool folder_is_empty(const struct folder_contents *contents, const struct marker *marker)
{
    if (contents->journal || contents->snapshot)
        return false;
    return contents->database ? contents->blank && marker->newest == 0 : marker->fd < 0;
}

/* A folder without a marker is a copy or has an old format. It must have a journal file, because
 * every service makes one before it acknowledges anything. */
void folder_find_missing(const struct folder_contents *contents, const struct marker *marker,
                         char *missing, size_t size)
{
    missing[0] = '\0';
    if (!contents->database)
        snprintf(missing, size, HISTORY_FILE);
    else if (!contents->newest)
        file_name(missing, size, "journal", marker->newest);
    else if (!contents->journal && marker->fd < 0)
        snprintf(missing, size, "journal-*");
}

static gordian_status check_contents(const struct folder *folder,
                                     const struct folder_contents *contents,
                                     const struct store_options *options, struct store_found *found,
                                     gordian_error *error)
{
    char missing[JOURNAL_NAME];
    found->made = folder_is_empty(contents, &folder->marker);
    if (options->fresh && !found->made)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%.200s: there is already a database: use --new only where there is none",
                    folder->path);
    if (found->made && contents->others && !options->fresh)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%.200s: there is no database, but there are other files; name the folder of "
                    "the service, an empty one, or make a new database here with --new",
                    folder->path);
    folder_find_missing(contents, &folder->marker, missing, sizeof missing);
    if (found->made || !missing[0])
        return GORDIAN_OK;
    if (!options->repair)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%.160s: %.40s is missing, and acknowledged data with it. Put it back, "
                    "restore a backup, or start once with --repair to continue without it",
                    folder->path, missing);
    found->cut = true;
    store_note(found, "repaired: %s was missing", missing);
    return GORDIAN_OK;
}

gordian_status folder_check(struct folder *folder, const struct store_options *options,
                            struct store_found *found, gordian_error *error)
{
    struct folder_contents contents = {0};
    gordian_error trouble = {0};
    gordian_status status = marker_open(&folder->marker, folder->fd, &trouble);
    if (status == GORDIAN_STATUS_INPUT && options->repair)
        store_note(found, "repaired: " MARKER_FILE ", %.100s", trouble.message);
    else if (status != GORDIAN_OK)
        return fail(error, status, "%.200s/" MARKER_FILE ": %.100s; --repair writes it again",
                    folder->path, trouble.message);
    status = folder_list(folder->fd, &folder->marker, &contents, error);
    THEN(status, check_contents(folder, &contents, options, found, error));
    if (status != GORDIAN_OK)
        return status;
    folder->blank = found->made || !contents.database;
    /* SQLite would make it readable for others. */
    int fd = openat(folder->fd, HISTORY_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail_folder_file(folder, "/" HISTORY_FILE, error);
    close(fd);
    return GORDIAN_OK;
}

bool folder_is_ours(const struct folder *folder)
{
    struct stat there;
    return stat(folder->file, &there) == 0 && there.st_ino == folder->inode &&
           marker_is_ours(&folder->marker);
}

gordian_status folder_begin(struct folder *folder, enum store_durability durability,
                            uint64_t newest, gordian_error *error)
{
    char line[LINE_MAX_], boot[BOOT_MAX];
    read_boot(boot);
    int length = snprintf(line, sizeof line, "%ld %s %s\n", (long)getpid(), boot[0] ? boot : "-",
                          store_durability_text(durability));
    /* Must be on disk, so that it is visible after a power failure. */
    if (ftruncate(folder->lock, 0) != 0 ||
        pwrite(folder->lock, line, (size_t)length, 0) != length || fsync(folder->lock) != 0)
        return fail_folder_file(folder, "/lock", error);
    struct stat there;
    if (stat(folder->file, &there) != 0)
        return fail_folder_file(folder, "/" HISTORY_FILE, error);
    folder->inode = there.st_ino;
    TRY(marker_note(&folder->marker, newest, true, error));
    /* Syncs the names in the folder, and its own name. */
    int above = folder->made ? openat(folder->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    bool synced = replace_sync_folder(folder->fd) && (above < 0 || replace_sync_folder(above));
    file_close(above);
    return synced ? GORDIAN_OK : fail_folder_file(folder, "", error);
}

void folder_close(struct folder *folder, bool orderly, const gordian_allocator *memory)
{
    if (folder->lock >= 0) {
        if (orderly && ftruncate(folder->lock, 0) != 0) {
            /* The next start then checks the journal as after a crash: harmless. */
        }
        close(folder->lock);
    }
    marker_close(&folder->marker);
    file_close(folder->fd);
    memory_free_all(memory, folder->path, folder->file);
    *folder = (struct folder){.fd = -1, .lock = -1, .marker.fd = -1};
}
