/* The directory, the tally and the log of a session. */
#include "output/report/session.h"

#include "foundation/base/io/temporary.h"
#include "foundation/base/memory.h"
#include "foundation/records/mpi_rank.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *const files[] = {"tally", "log", "working"};

static int open_in(const char *folder, const char *name, int flags)
{
    char path[4096];
    int used = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (used < 0 || (size_t)used >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* ------------------------------------------------------------------ the directory */

static bool create_files(const char *folder)
{
    struct incident_tally tally = {.magic = INCIDENT_TALLY_MAGIC, .command = (uint64_t)getpid()};
    const off_t whole =
        INCIDENT_MAILBOX_OFFSET + sizeof(struct incident_mailbox) + INCIDENT_MAILBOX_ROOM;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int fd = open_in(folder, files[i], O_RDWR | O_CREAT | O_EXCL);
        if (fd < 0)
            return false;
        bool written = i > 0 || (write(fd, &tally, sizeof tally) == (ssize_t)sizeof tally &&
                                 ftruncate(fd, whole) == 0);
        if (geteuid() == 0)
            written = written && fchmod(fd, 0666) == 0;
        close(fd);
        if (!written)
            return false;
    }
    return true;
}

/* A program started by root may change its user and must still count its findings. Any process that
 * knows the name can open the files; the name is random. */
static bool open_to_others(char *folder, size_t size)
{
    unsigned char bytes[16];
    size_t length = strlen(folder);
    if (chmod(folder, 0711) != 0 || getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes ||
        size < length + 2 * sizeof bytes + 2)
        return false;
    folder[length] = '/';
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(folder + length + 1 + 2 * i, 3, "%02x", bytes[i]);
    if (mkdir(folder, 0711) == 0 && chmod(folder, 0711) == 0)
        return true;
    folder[length] = '\0';
    return false;
}

bool session_create(char *folder, size_t size)
{
    if (temporary_folder("gordian-run", folder, size, NULL) != GORDIAN_OK)
        return false;
    if (geteuid() == 0 && !open_to_others(folder, size)) {
        rmdir(folder);
        return false;
    }
    if (create_files(folder))
        return true;
    int why = errno;
    session_remove(folder);
    errno = why;
    return false;
}

/* Removes the records of MPI ranks. */
static void remove_records(const char *folder)
{
    DIR *open_folder = opendir(folder);
    for (struct dirent *entry; open_folder && (entry = readdir(open_folder));)
        if (strncmp(entry->d_name, MPI_RECORD_NAME, strlen(MPI_RECORD_NAME)) == 0)
            unlinkat(dirfd(open_folder), entry->d_name, 0);
    if (open_folder)
        closedir(open_folder);
}

void session_remove(const char *folder)
{
    char path[4096];
    remove_records(folder);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
    snprintf(path, sizeof path, "%s", folder);
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    if (strstr(slash ? path : "", "/gordian-run-"))
        rmdir(path);
}

void session_settle(const char *folder, unsigned patience_ms)
{
    int fd = open_in(folder, "working", O_RDONLY);
    if (fd < 0)
        return;
    for (unsigned waited = 0; flock(fd, LOCK_EX | LOCK_NB) != 0 && waited < patience_ms;
         waited += 5)
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    close(fd);
}

/* ------------------------------------------------------------------ the log */

/* Returns the whole log, NUL-terminated, to be freed; NULL: none. */
static char *read_log(int fd)
{
    struct stat about;
    if (fd < 0 || fstat(fd, &about) != 0 || about.st_size > 64 << 20)
        return NULL;
    size_t size = (size_t)about.st_size;
    char *text = calloc(size + 1, 1);
    if (text && size && pread(fd, text, size, 0) != (ssize_t)size) {
        free(text);
        return NULL;
    }
    return text;
}

static char *read_log_of(const char *folder)
{
    int fd = open_in(folder, "log", O_RDONLY);
    char *log = read_log(fd);
    if (fd >= 0)
        close(fd);
    return log;
}

enum entry_kind { ENTRY_NONE, ENTRY_TOLD, ENTRY_AGAIN, ENTRY_SUPPRESSED };

struct entry {
    enum entry_kind what;
    unsigned kind, pid, incident, line;
    uint64_t hash, count;
};

/* Parses the entry at *at and advances to the next one. False: end of the log. */
static bool next_entry(const char **at, struct entry *entry)
{
    const char *text = *at;
    if (!*text)
        return false;
    *entry = (struct entry){.what = ENTRY_NONE};
    if (sscanf(text, "told %u %" SCNx64 " %u %u", &entry->kind, &entry->hash, &entry->pid,
               &entry->incident) == 4)
        entry->what = ENTRY_TOLD;
    else if (sscanf(text, "again %u %" SCNx64 " %" SCNu64, &entry->kind, &entry->hash,
                    &entry->count) == 3)
        entry->what = ENTRY_AGAIN;
    else if (sscanf(text, "suppressed %u %" SCNu64 " %u %u", &entry->line, &entry->count,
                    &entry->pid, &entry->incident) == 4)
        entry->what = ENTRY_SUPPRESSED;
    size_t length = strcspn(text, "\n");
    *at = text + length + (text[length] == '\n');
    return true;
}

/* Appends a line with one write, so that lines of several processes do not mix. */
__attribute__((format(printf, 2, 3))) static void append_text(const struct session *session,
                                                              const char *format, ...)
{
    char line[160];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length < sizeof line)
        (void)!write(session->log, line, (size_t)length);
}

/* ------------------------------------------------------------------ reporter side */

void session_open(struct session *session, const char *folder)
{
    *session = (struct session){.log = -1, .working = -1};
    if (!folder || !*folder)
        return;
    session->working = open_in(folder, "working", O_RDONLY);
    if (session->working >= 0)
        flock(session->working, LOCK_SH);
    session->log = open_in(folder, "log", O_RDWR | O_APPEND);
}

void session_close(struct session *session)
{
    if (session->log >= 0)
        close(session->log);
    if (session->working >= 0)
        close(session->working);
    *session = (struct session){.log = -1, .working = -1};
}

static void mix_hash(uint64_t *hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        *hash = (*hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
}

static uint64_t hash_site(const struct stack *stack)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < stack->count; i++) {
        const struct frame *frame = &stack->frames[i];
        if (frame->module)
            mix_hash(&hash, path_tail(frame->module), strlen(path_tail(frame->module)));
        mix_hash(&hash, &frame->offset, sizeof frame->offset);
    }
    return hash;
}

/* In another process the same defect has other addresses, but the same locations in the same files.
 * The hash does not depend on the first thread of the cycle. */
static uint64_t hash_report(const struct report *report)
{
    uint64_t hash = report->head.kind;
    size_t count = report->witness_count ? report->witness_count : report->edge_count;
    for (size_t i = 0; i < count && !report->order_count; i++)
        hash += hash_site(&report->edges[i].site);
    for (size_t i = 0; i < report->order_count; i++)
        hash += hash_site(&report->orders[i].held) * 3 + hash_site(&report->orders[i].taken);
    return hash;
}

/* Records the threads that can never continue, so that no other reporter reports them again. */
static void append_stuck(const struct session *session, const struct report *report)
{
    bool actual =
        report->head.kind == INCIDENT_DEADLOCK || report->head.kind == INCIDENT_OWNER_GONE;
    const char *word = report->head.word == INCIDENT_LIKELY ? "likely" : "stuck";
    for (size_t i = 0; i < report->thread_count && actual; i++)
        if (report->threads[i].raw.flags & INCIDENT_STUCK)
            append_text(session, "%s %u\n", word, report->threads[i].raw.tid);
}

struct session_number session_number_report(struct session *session, const struct report *report)
{
    struct session_number number = {0};
    if (session->log < 0 || report->head.kind == INCIDENT_STATUS)
        return number;
    /* Findings of the kind "owner gone" are counted as deadlocks. */
    unsigned kind =
        report->head.kind == INCIDENT_OWNER_GONE ? INCIDENT_DEADLOCK : report->head.kind;
    uint64_t hash = hash_report(report);
    struct entry entry;
    flock(session->log, LOCK_EX);
    char *log = read_log(session->log);
    for (const char *at = log ? log : ""; !number.again && next_entry(&at, &entry);) {
        if (entry.what != ENTRY_TOLD)
            continue;
        number.sequence++;
        number.ordinal += entry.kind == kind;
        number.again = entry.kind == kind && entry.hash == hash;
    }
    append_stuck(session, report);
    if (number.again) {
        append_text(session, "again %u %" PRIx64 " 1\n", kind, hash);
    } else {
        append_text(session, "told %u %" PRIx64 " %u %u\n", kind, hash, report->head.pid,
                    report->head.number);
        number.sequence++;
        number.ordinal++;
    }
    flock(session->log, LOCK_UN);
    free(log);
    return number;
}

void session_suppressed(struct session *session, const struct report *report, unsigned line)
{
    if (session->log >= 0)
        append_text(session, "suppressed %u 1 %u %u\n", line, report->head.pid,
                    report->head.number);
}

void session_add_recurrences(struct session *session, const struct report *report)
{
    struct entry entry;
    char *log = read_log(session->log);
    for (size_t i = 0; i < report->fold_count && log; i++) {
        const struct incident_fold *fold = &report->folds[i];
        for (const char *at = log; fold->count > 1 && next_entry(&at, &entry);) {
            if (entry.pid != report->head.pid || entry.incident != fold->number)
                continue;
            if (entry.what == ENTRY_TOLD)
                append_text(session, "again %u %" PRIx64 " %" PRIu64 "\n", entry.kind, entry.hash,
                            fold->count - 1);
            else if (entry.what == ENTRY_SUPPRESSED)
                append_text(session, "suppressed %u %" PRIu64 " 0 0\n", entry.line,
                            fold->count - 1);
            break;
        }
    }
    free(log);
}

/* ------------------------------------------------------------------ the command */

void session_totals(const char *folder, struct session_totals *totals)
{
    *totals = (struct session_totals){0};
    int fd = open_in(folder, "tally", O_RDONLY);
    if (fd >= 0) {
        if (read(fd, &totals->tally, sizeof totals->tally) != (ssize_t)sizeof totals->tally)
            totals->tally = (struct incident_tally){0};
        close(fd);
    }
    char *log = read_log_of(folder);
    struct entry entry;
    for (const char *at = log ? log : ""; next_entry(&at, &entry);)
        if (entry.what == ENTRY_TOLD && entry.kind <= INCIDENT_SUMMARY)
            totals->reported[entry.kind]++;
    free(log);
}

bool session_is_stuck(const char *folder, uint32_t tid, bool likely)
{
    char *log = read_log_of(folder), line[32];
    snprintf(line, sizeof line, "%s %u\n", likely ? "likely" : "stuck", tid);
    bool found = log && strstr(log, line);
    free(log);
    return found;
}

/* Sums the counts of the entries of a kind that are about the same report or suppression. */
static uint64_t sum_counts(const char *log, enum entry_kind what, const struct entry *about)
{
    struct entry entry;
    uint64_t count = 0;
    while (next_entry(&log, &entry))
        if (entry.what == what && entry.kind == about->kind && entry.hash == about->hash &&
            entry.line == about->line)
            count += entry.count;
    return count;
}

static bool line_is_first(const char *log, const char *before, unsigned line)
{
    struct entry entry;
    while (log < before && next_entry(&log, &entry))
        if (log < before && entry.what == ENTRY_SUPPRESSED && entry.line == line)
            return false;
    return true;
}

void session_read(const char *folder, const struct session_reader *reader)
{
    char *log = read_log_of(folder);
    unsigned ordinals[INCIDENT_SUMMARY + 1] = {0};
    struct entry entry;
    for (const char *at = log ? log : ""; next_entry(&at, &entry);) {
        if (entry.what == ENTRY_TOLD && entry.kind <= INCIDENT_SUMMARY) {
            unsigned ordinal = ++ordinals[entry.kind];
            uint64_t again = sum_counts(log, ENTRY_AGAIN, &entry);
            if (again)
                reader->again(reader->context, entry.kind, ordinal, again + 1);
        } else if (entry.what == ENTRY_SUPPRESSED && line_is_first(log, at, entry.line)) {
            reader->suppressed(reader->context, entry.line,
                               sum_counts(log, ENTRY_SUPPRESSED, &entry));
        }
    }
    free(log);
}
