/* From the file to the answer: `gordian detect` and `gordian check` on text, each a process on one
 * core, compared with the floor: a plain loop that maps the file, splits words and looks names up
 * with a short prefetch queue. */
#define _GNU_SOURCE
#include "lab/bench/harness/harness.h"

#include "foundation/base/error.h"
#include "foundation/base/io/temporary.h"
#include "lab/bench/harness/child.h"
#include "sources/gen/gen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct reading {
    char path[4096];
    uint32_t names; /* most names, in total */
    uint64_t lines;
    uint64_t sum;         /* of the floor's answers: the same each time */
    const char *words[4]; /* arguments of the command, before the file */
};

/* ------------------------------------------------------------------ the floor */

#define QUEUE 32 /* names whose slots are being prefetched */
#define SLACK 32 /* readable bytes past the end of the text */

/* Names of up to 16 bytes, the common case, are stored in the slot itself. */
struct floor_slot {
    uint64_t key[2];
    const char *text; /* NULL: free */
    uint32_t length, id;
};

struct floor_name {
    uint64_t key[2], hash;
    const char *text;
    uint32_t length;
};

struct floor_loop {
    struct floor_slot *slots;
    uint64_t mask, sum, lines;
    uint32_t names;
    struct floor_name queue[QUEUE];
    unsigned queued;
};

static inline bool floor_same(const struct floor_slot *slot, const struct floor_name *name)
{
    return slot->key[0] == name->key[0] && slot->key[1] == name->key[1] &&
           slot->length == name->length &&
           (name->length <= sizeof name->key || memcmp(slot->text, name->text, name->length) == 0);
}

static inline void floor_find(struct floor_loop *loop, const struct floor_name *name)
{
    uint64_t at = name->hash & loop->mask;
    for (;; at = (at + 1) & loop->mask) {
        struct floor_slot *slot = &loop->slots[at];
        if (!slot->text)
            *slot = (struct floor_slot){
                {name->key[0], name->key[1]}, name->text, name->length, loop->names++};
        if (floor_same(slot, name)) {
            loop->sum += slot->id;
            return;
        }
    }
}

/* Returns the first `count` bytes of eight. */
static inline uint64_t floor_bytes(const char *text, size_t count)
{
    uint64_t word;
    memcpy(&word, text, sizeof word);
    return count >= sizeof word ? word : word & ((UINT64_C(1) << 8 * count) - 1);
}

static inline void floor_expect(struct floor_loop *loop, const char *text, size_t length)
{
    struct floor_name *last = &loop->queue[loop->queued++ % QUEUE];
    if (last->text)
        floor_find(loop, last);
    uint64_t low = floor_bytes(text, length),
             high = length > 8 ? floor_bytes(text + 8, length - 8) : 0;
    uint64_t mixed = (low ^ (high << 29 | high >> 35) ^ length) * UINT64_C(0x9e3779b97f4a7c15);
    *last = (struct floor_name){{low, high}, mixed ^ mixed >> 32, text, (uint32_t)length};
    __builtin_prefetch(&loop->slots[last->hash & loop->mask]);
}

/* Returns the bytes up to the first blank or control character, eight at a time. */
static inline size_t floor_word(const char *at)
{
    for (size_t length = 0;; length += 8) {
        uint64_t word, ends;
        memcpy(&word, at + length, sizeof word);
        ends = ~(((word & UINT64_C(0x7f7f7f7f7f7f7f7f)) + UINT64_C(0x5f5f5f5f5f5f5f5f)) | word) &
               UINT64_C(0x8080808080808080);
        if (ends)
            return length + (size_t)__builtin_ctzll(ends) / 8;
    }
}

/* All words of a line except the first are names. */
static inline const char *floor_line(struct floor_loop *loop, const char *at, const char *end)
{
    if (*at != '#') {
        at += floor_word(at);
        while (at < end && *at == ' ') {
            size_t length = floor_word(at + 1);
            if (length > 0)
                floor_expect(loop, at + 1, length);
            at += 1 + length;
        }
    }
    while (at < end && *at != '\n')
        at++;
    return at + 1;
}

static void floor_text(struct floor_loop *loop, const char *at, const char *end)
{
    for (; at < end; loop->lines++)
        at = floor_line(loop, at, end);
    for (unsigned i = 0; i < QUEUE; i++)
        if (loop->queue[i].text)
            floor_find(loop, &loop->queue[i]);
}

/* Maps the file, with some zeros after it. NULL: see errno. */
static char *floor_map(int fd, size_t size)
{
    char *text = mmap(NULL, size + SLACK, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (text == MAP_FAILED)
        return NULL;
    if (mmap(text, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) != MAP_FAILED)
        return text;
    munmap(text, size + SLACK);
    return NULL;
}

static gordian_status fail_reading_file(const struct reading *reading, gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_IO, "%s: %s", reading->path, strerror(errno));
}

static gordian_status run_floor(void *context, double *ns, gordian_error *error)
{
    struct reading *reading = context;
    struct floor_loop loop = {.mask = 1};
    struct stat about;
    uint64_t start = work_ns();
    int fd = open(reading->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) != 0)
        return fail_reading_file(reading, error);
    size_t size = (size_t)about.st_size;
    char *text = floor_map(fd, size);
    close(fd);
    if (!text)
        return fail_reading_file(reading, error);
    while (loop.mask < 2 * (uint64_t)reading->names)
        loop.mask = loop.mask * 2 + 1;
    loop.slots = calloc(loop.mask + 1, sizeof *loop.slots);
    if (loop.slots)
        floor_text(&loop, text, text + size);
    free(loop.slots);
    munmap(text, size + SLACK);
    *ns = (double)(work_ns() - start);
    if (!loop.slots)
        return fail_memory(error);
    if (reading->lines && (loop.lines != reading->lines || loop.sum != reading->sum))
        return fail(error, GORDIAN_STATUS_INPUT, "read: the same text gave different results");
    reading->lines = loop.lines;
    reading->sum = loop.sum;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ the command */

/* Starts the command, with its output discarded. It must not be forked from this process: unmapping
 * our memory would take as long as some of the commands. */
static int spawn_command(const struct reading *reading, pid_t *child)
{
    const char *words[6] = {"gordian"};
    char gordian[PATH_MAX];
    size_t count = 1;
    posix_spawn_file_actions_t actions;
    for (size_t i = 0; reading->words[i]; i++)
        words[count++] = reading->words[i];
    words[count] = reading->path;
    if (!child_gordian(gordian, sizeof gordian))
        return ENOENT;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure)
        return failure;
    failure = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!failure)
        failure =
            posix_spawn(child, gordian, &actions, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

/* The command inherits our pinning to the current core, so it uses one core even if it has threads.
 */
static int start_command(const struct reading *reading, pid_t *child)
{
    cpu_set_t one, before;
    int core = sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET(core >= 0 ? (size_t)core : 0, &one);
    if (sched_getaffinity(0, sizeof before, &before) != 0 ||
        sched_setaffinity(0, sizeof one, &one) != 0)
        return errno;
    int failure = spawn_command(reading, child);
    sched_setaffinity(0, sizeof before, &before);
    return failure;
}

/* Returns its CPU time. */
static gordian_status run_pinned_command(void *context, double *ns, gordian_error *error)
{
    const struct reading *reading = context;
    struct rusage usage;
    int status;
    pid_t child;
    int failure = start_command(reading, &child);
    while (!failure && wait4(child, &status, 0, &usage) < 0)
        if (errno != EINTR)
            failure = errno;
    if (failure)
        return fail(error, GORDIAN_STATUS_IO, "cannot run gordian: %s", strerror(failure));
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) /* 1: deadlocks were found */
        return fail(error, GORDIAN_STATUS_INPUT, "gordian %s failed", reading->words[0]);
    *ns = 1e9 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
          1e3 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ rows */

static gordian_status make_reading_file(struct reading *reading, int *fd, gordian_error *error)
{
    return temporary_file("gordian-read", "", reading->path, sizeof reading->path, fd, error);
}

static struct bench_row reading_row_of(const struct reading *reading, const struct bench_side *side,
                                       const char *what, const char *kind)
{
    struct bench_row row = bench_row("ns", "read/%s/%s-%u", what, kind, reading->names);
    row.value = side->median / (double)reading->lines;
    row.p99 = side->p99 / (double)reading->lines;
    row.bar_kind = BAR_AT_LEAST;
    return row;
}

/* Target: within 2.5x of the floor; --json, where there is one, within 2x of that. */
static gordian_status add_reading_rows(struct bench *bench, const struct reading *reading,
                                       const struct bench_side sides[3], const char *kind)
{
    struct bench_row row = reading_row_of(reading, &sides[0], reading->words[0], kind);
    row.baseline = "floor";
    row.baseline_value = sides[1].median / (double)reading->lines;
    row.bar = 1 / 2.5;
    bench_note(&row, "per line of %llu, from the file to the answer, on one core",
               (unsigned long long)reading->lines);
    gordian_status status = bench_add(bench, &row);
    if (status != GORDIAN_OK || sides[2].median == 0)
        return status;
    struct bench_row json = reading_row_of(reading, &sides[2], "detect-json", kind);
    json.baseline = "detect";
    json.baseline_value = row.value;
    json.bar = 1 / 2.0;
    return bench_add(bench, &json);
}

/* ------------------------------------------------------------------ packed */

/* The target is for 10^7 processes and 10^7 resources: with 10^6, the program's start takes an
 * eighth of the time. */
#define PACKED_BAR_NAMES 20000000

struct judging {
    gordian_snapshot *snapshot;
    gordian_names *names;
};

static gordian_status run_core_judgement(void *context, double *ns, gordian_error *error)
{
    struct judging *judging = context;
    gordian_report report;
    uint32_t id;
    /* Add an idle process, so that no earlier answer can be reused. */
    gordian_status status = gordian_snapshot_add_process(judging->snapshot, &id, error);
    uint64_t start = work_ns();
    THEN(status, gordian_snapshot_check_for(judging->snapshot,
                                            &(gordian_check_options){"sparse", 1}, &report, error));
    *ns = (double)(work_ns() - start);
    return status;
}

static gordian_status open_judging(struct judging *judging, const struct reading *packed,
                                   gordian_error *error)
{
    int fd = open(packed->path, O_RDONLY | O_CLOEXEC);
    gordian_source source = gordian_source_fd(&fd);
    if (fd < 0)
        return fail_reading_file(packed, error);
    gordian_status status =
        gordian_snapshot_read(&judging->snapshot, &judging->names, &source, NULL, error);
    close(fd);
    return status;
}

static gordian_status add_packed(struct bench *bench, const struct reading *packed,
                                 const struct bench_side sides[2], const char *kind)
{
    struct bench_row row =
        bench_measured(&sides[0], "ms", "read/check-packed/%s-%u", kind, packed->names);
    bench_against(&row, "judging", &sides[1]);
    bench_bar(&row, packed->names >= PACKED_BAR_NAMES ? BAR_AT_LEAST : BAR_NONE, 1 / 1.5);
    bench_note(&row,
               "from the packed file to the answer; baseline: the analysis alone; on one core");
    return bench_add(bench, &row);
}

static gordian_status packed_row(struct bench *bench, const struct reading *text, const char *kind)
{
    struct reading packed = *text;
    struct judging judging = {0};
    struct bench_side sides[2] = {{&packed, run_pinned_command}, {&judging, run_core_judgement}};
    struct bench_effort effort = {0, 3, 15, bench->options->quick ? 2 : 20};
    /* The same text, packed, in a file of its own. */
    int from, to;
    TRY(make_reading_file(&packed, &to, bench->error));
    from = open(text->path, O_RDONLY | O_CLOEXEC);
    gordian_source source = gordian_source_fd(&from);
    gordian_writer writer = gordian_writer_fd(&to);
    gordian_status status =
        from >= 0 ? gordian_convert(&source, &writer, GORDIAN_FORM_SNAPSHOT, NULL, bench->error)
                  : fail_reading_file(text, bench->error);
    if (from >= 0)
        close(from);
    close(to);
    THEN(status, open_judging(&judging, &packed, bench->error));
    THEN(status, bench_measure(bench, sides, 2, effort));
    THEN(status, add_packed(bench, &packed, sides, kind));
    gordian_snapshot_close(judging.snapshot);
    gordian_names_close(judging.names);
    if (packed.path[0])
        unlink(packed.path);
    return status;
}

static gordian_status reading_rows(struct bench *bench, const struct gen_options *options,
                                   bool snapshot)
{
    struct reading reading = {.names = options->processes + options->resources};
    bench_progress(bench, "reading, %s with %u names", options->kind, reading.names);
    struct output out;
    int fd;
    TRY(make_reading_file(&reading, &fd, bench->error));
    gordian_status status =
        output_open(&out, fd) ? gen_write(options, &out, bench->error) : fail_memory(bench->error);
    if (!output_close(&out) && status == GORDIAN_OK)
        status =
            fail(bench->error, GORDIAN_STATUS_IO, "%s: %s", reading.path, strerror(out.failure));
    close(fd);
    reading.words[0] = snapshot ? "check" : "detect";
    reading.words[1] = "--quiet";
    struct reading json = reading;
    json.words[1] = "--json";
    struct bench_side sides[3] = {
        {&reading, run_pinned_command}, {&reading, run_floor}, {&json, run_pinned_command}};
    struct bench_effort effort = {0, 3, 15, bench->options->quick ? 3 : 30};
    THEN(status, bench_measure(bench, sides, snapshot ? 2 : 3, effort));
    THEN(status, add_reading_rows(bench, &reading, sides, options->kind));
    if (status == GORDIAN_OK && snapshot)
        status = packed_row(bench, &reading, options->kind);
    if (reading.path[0])
        unlink(reading.path);
    return status;
}

static gordian_status trace_rows(struct bench *bench, uint32_t names, uint64_t events)
{
    struct gen_options options = gen_options_of("random", bench->options->seed, names / 2);
    options.resources = options.processes;
    options.events = events;
    options.contention = 0;
    return reading_rows(bench, &options, false);
}

gordian_status bench_read(struct bench *bench)
{
    const bool quick = bench->options->quick;
    gordian_status status = trace_rows(bench, 3000, quick ? 2000000 : 10000000);
    THEN(status, trace_rows(bench, 3000000, quick ? 4000000 : 10000000));
    TRY(status);
    uint32_t size = quick ? 1000000 : 10000000;
    struct gen_options options = gen_options_of("chains", bench->options->seed, size);
    options.resources = options.processes;
    options.length = 100;
    options.cycles = 10;
    options.snapshot = true;
    return reading_rows(bench, &options, true);
}
