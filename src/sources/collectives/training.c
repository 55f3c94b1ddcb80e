/* The dumps of a training job: reads all of them with several threads. */
#include "sources/collectives/training.h"

#include "foundation/base/error.h"
#include "foundation/base/sort.h"
#include "foundation/base/threads/thread_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MOST (1u << 30)

gordian_status training_open(struct training **out, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct training *job = memory_zeroed(&memory, sizeof *job);
    if (!job)
        return fail_memory(error);
    job->memory = memory;
    pthread_mutex_init(&job->lock, NULL);
    names_init(&job->texts, &memory);
    names_init(&job->group_names, &memory);
    job->text_count = 1; /* text 0 is "" */
    *out = job;
    return GORDIAN_OK;
}

void training_close(struct training *job)
{
    if (!job)
        return;
    gordian_allocator memory = job->memory;
    for (size_t i = 0; i < job->group_count; i++)
        memory_free(&memory, job->groups[i].members);
    for (size_t i = 0; i < job->rank_count; i++)
        memory_free_all(&memory, job->ranks[i].operations, job->ranks[i].memberships);
    names_free(&job->texts);
    names_free(&job->group_names);
    pthread_mutex_destroy(&job->lock);
    for (size_t i = 0; i < job->complaint_count; i++)
        memory_free(&memory, job->complaints[i].file);
    memory_free_all(&memory, job->groups, job->ranks, job->complaints, job->flights,
                    job->rendezvous_list, job->late, job->mismatches, job->cycles, job->steps,
                    job->culprits, job);
}

bool training_grow(struct training *job, size_t count)
{
    if (count <= job->rank_count)
        return true;
    if (!memory_grow_zeroed(&job->memory, &job->ranks, &job->rank_capacity, count,
                            sizeof *job->ranks))
        return false;
    for (size_t i = job->rank_count; i < count; i++)
        job->ranks[i] = (struct rank){.oldest = UINT64_MAX, .rendezvous = GORDIAN_NONE};
    job->rank_count = count;
    return true;
}

const struct membership *rank_membership(const struct rank *rank, uint32_t group)
{
    size_t low = 0, high = rank->membership_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rank->memberships[middle].group < group)
            low = middle + 1;
        else
            high = middle;
    }
    return low < rank->membership_count && rank->memberships[low].group == group
               ? &rank->memberships[low]
               : NULL;
}

int compare_memberships(const void *left, const void *right)
{
    const struct membership *a = left, *b = right;
    return (a->group > b->group) - (a->group < b->group);
}

/* ------------------------------------------------------------------ names of files */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Parses a rank from the digits at name[start ..). NONE: there are no digits, or too many. */
static uint32_t parse_rank(const char *name, size_t start)
{
    uint32_t rank = 0;
    size_t end = start;
    for (; is_digit(name[end]) && end - start < 7; end++)
        rank = 10 * rank + (uint32_t)(name[end] - '0');
    return end > start && !is_digit(name[end]) && rank < COLLECTIVES_RANKS_MOST ? rank
                                                                                : GORDIAN_NONE;
}

/* Returns the number after the last "rank": "rank3_host12", "trace_rank_3.json". */
static uint32_t named_rank(const char *name)
{
    uint32_t rank = GORDIAN_NONE;
    for (size_t i = 0; name[i]; i++) {
        if (strncasecmp(name + i, "rank", 4) != 0)
            continue;
        size_t at = i + 4 + strspn(name + i + 4, "_-=.");
        if (is_digit(name[at]))
            rank = parse_rank(name, at);
    }
    return rank;
}

/* Returns the number at the end of the name, before a known file extension. */
static uint32_t last_number(const char *name)
{
    static const char *const endings[] = {".json", ".pickle", ".pkl", ".bin", ".trace"};
    size_t end = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(endings[i]);
        if (end > length && memcmp(name + end - length, endings[i], length) == 0) {
            end -= length;
            break;
        }
    }
    size_t start = end;
    while (start > 0 && is_digit(name[start - 1]))
        start--;
    return start < end ? parse_rank(name, start) : GORDIAN_NONE;
}

uint32_t training_rank_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    uint32_t rank = named_rank(name);
    return rank != GORDIAN_NONE ? rank : last_number(name);
}

/* ------------------------------------------------------------------ reading files */

struct read_work {
    struct training *job;
    const struct dump_file *files;
    size_t count;
    _Atomic size_t next;
    _Atomic bool failed; /* out of memory */
};

/* Reads a file into a growing buffer and appends a NUL. */
static gordian_status load_file(const char *path, char **bytes, size_t *capacity, size_t *size,
                                const gordian_allocator *memory, gordian_error *error)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    gordian_status status = GORDIAN_OK;
    *size = 0;
    if (fd < 0)
        return fail(error, GORDIAN_STATUS_IO, "%s", strerror(errno));
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > FILE_MOST)
        status = fail(error, GORDIAN_STATUS_INPUT, "not a regular file below 1 GiB");
    else if (!memory_grow(memory, bytes, capacity, (size_t)about.st_size + 1, 1))
        status = fail_memory(error);
    while (status == GORDIAN_OK && *size < (size_t)about.st_size) {
        ptrdiff_t got = read(fd, *bytes + *size, (size_t)about.st_size - *size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            status = fail(error, GORDIAN_STATUS_IO, "%s", strerror(errno));
        if (got <= 0)
            break;
        *size += (size_t)got;
    }
    if (status == GORDIAN_OK)
        (*bytes)[*size] = '\0';
    close(fd);
    return status;
}

static bool add_complaint(struct training *job, const struct dump_file *file,
                          const gordian_error *error)
{
    char *path = memory_copy_text(&job->memory, file->path);
    pthread_mutex_lock(&job->lock);
    bool grown = path && memory_extend(&job->memory, job->complaints, job->complaint_capacity,
                                       job->complaint_count);
    if (grown) {
        struct complaint *complaint = &job->complaints[job->complaint_count++];
        complaint->rank = file->rank;
        complaint->file = path;
        if (file->rank != GORDIAN_NONE)
            job->ranks[file->rank].unread = true;
        if (error->line)
            snprintf(complaint->text, sizeof complaint->text, "line %llu, column %llu: %.150s",
                     (unsigned long long)error->line, (unsigned long long)error->column,
                     error->message);
        else
            snprintf(complaint->text, sizeof complaint->text, "%.190s", error->message);
    }
    pthread_mutex_unlock(&job->lock);
    if (!grown)
        memory_free(&job->memory, path);
    return grown;
}

static void read_some(void *context, unsigned member)
{
    struct read_work *work = context;
    struct training *job = work->job;
    struct dump_reader *reader = NULL;
    char *bytes = NULL;
    size_t capacity = 0, size = 0, at;
    gordian_error error = {0};
    (void)member;
    if (dump_reader_open(&reader, job, &error) != GORDIAN_OK)
        work->failed = true;
    while (!work->failed && (at = atomic_fetch_add(&work->next, 1)) < work->count) {
        const struct dump_file *file = &work->files[at];
        error = (gordian_error){0};
        gordian_status status =
            file->rank == GORDIAN_NONE
                ? fail(&error, GORDIAN_STATUS_INPUT, "the file name contains no rank")
                : load_file(file->path, &bytes, &capacity, &size, &job->memory, &error);
        THEN(status, dump_read(reader, bytes, size, &job->ranks[file->rank], &error));
        if (status == GORDIAN_STATUS_MEMORY ||
            (status != GORDIAN_OK && !add_complaint(job, file, &error)))
            work->failed = true;
    }
    memory_free(&job->memory, bytes);
    dump_reader_close(reader);
}

static int compare_complaints(const void *left, const void *right)
{
    const struct complaint *a = left, *b = right;
    return a->rank != b->rank ? (a->rank > b->rank) - (a->rank < b->rank)
                              : strcmp(a->file, b->file);
}

/* ------------------------------------------------------------------ the order of groups */

/* Compares groups by name, with numbers in numeric order, then by members. */
static int compare_groups(const void *left, const void *right, void *context)
{
    const struct training *job = context;
    const struct group *a = &job->groups[*(const uint32_t *)left];
    const struct group *b = &job->groups[*(const uint32_t *)right];
    const char *x = training_name(job, a->name), *y = training_name(job, b->name);
    size_t length = strlen(x), other = strlen(y);
    if (length != other)
        return length < other ? -1 : 1;
    int order = strcmp(x, y);
    for (uint32_t i = 0; order == 0 && i < a->count && i < b->count; i++)
        order = (a->members[i] > b->members[i]) - (a->members[i] < b->members[i]);
    return order ? order : (a->count > b->count) - (a->count < b->count);
}

gordian_status training_order(struct training *job, gordian_error *error)
{
    size_t count = job->group_count;
    if (count == 0)
        return GORDIAN_OK;
    uint32_t *order = memory_alloc(&job->memory, count * sizeof *order);
    uint32_t *numbers = memory_alloc(&job->memory, count * sizeof *numbers);
    struct group *groups = memory_alloc(&job->memory, count * sizeof *groups);
    bool fine = order && numbers && groups;
    if (fine) {
        for (uint32_t i = 0; i < count; i++)
            order[i] = i;
        sort_with(order, count, sizeof *order, compare_groups, job);
        for (uint32_t i = 0; i < count; i++) {
            numbers[order[i]] = i;
            groups[i] = job->groups[order[i]];
        }
        memcpy(job->groups, groups, count * sizeof *groups);
    }
    for (size_t r = 0; r < job->rank_count && fine; r++) {
        struct rank *rank = &job->ranks[r];
        for (uint32_t i = 0; i < rank->operation_count; i++) /* operations stay sorted by member */
            rank->operations[i].group = numbers[rank->operations[i].group];
        for (uint32_t i = 0; i < rank->membership_count; i++)
            rank->memberships[i].group = numbers[rank->memberships[i].group];
        if (rank->membership_count)
            qsort(rank->memberships, rank->membership_count, sizeof *rank->memberships,
                  compare_memberships);
    }
    memory_free_all(&job->memory, order, numbers, groups);
    return fine ? GORDIAN_OK : fail_memory(error);
}

/* Checks that no rank has two dumps, and makes room for all ranks. */
static gordian_status check_files(struct training *job, const struct dump_file *files, size_t count,
                                  gordian_error *error)
{
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++)
        if (files[i].rank != GORDIAN_NONE && files[i].rank > most)
            most = files[i].rank;
    if (!training_grow(job, (size_t)most + 1))
        return fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        if (files[i].rank == GORDIAN_NONE)
            continue;
        if (job->ranks[files[i].rank].listed)
            return fail(error, GORDIAN_STATUS_INPUT, "'%.150s' is a second dump of rank %u",
                        files[i].path, files[i].rank);
        job->ranks[files[i].rank].listed = true;
    }
    return GORDIAN_OK;
}

gordian_status training_read(struct training *job, const struct dump_file *files, size_t count,
                             unsigned threads, gordian_error *error)
{
    gordian_status status = check_files(job, files, count, error);
    if (status != GORDIAN_OK || count == 0)
        return status;
    struct read_work work = {.job = job, .files = files, .count = count};
    struct thread_pool *workers = NULL;
    if (threads != 1 && count > 1)
        TRY(thread_pool_open(&workers, threads, &job->memory, error));

    thread_pool_do(workers, read_some, &work);
    thread_pool_close(workers);
    if (work.failed)
        return fail_memory(error);
    if (job->complaint_count)
        qsort(job->complaints, job->complaint_count, sizeof *job->complaints, compare_complaints);
    return GORDIAN_OK;
}

gordian_status training_take(struct training *job, uint32_t rank, const char *bytes, size_t size,
                             gordian_error *error)
{
    struct dump_reader *reader;
    if (rank >= COLLECTIVES_RANKS_MOST || (rank < job->rank_count && job->ranks[rank].heard))
        return fail(error, GORDIAN_STATUS_INPUT, "rank %u: too large, or a second dump", rank);
    if (!training_grow(job, (size_t)rank + 1))
        return fail_memory(error);
    TRY(dump_reader_open(&reader, job, error));
    job->ranks[rank].listed = true;
    gordian_status status = dump_read(reader, bytes, size, &job->ranks[rank], error);
    dump_reader_close(reader);
    return status;
}
