#define _GNU_SOURCE
#include "sources/inspect/incident.h"

#include "foundation/base/bytes.h"
#include "foundation/base/error.h"
#include "foundation/base/io/output.h"
#include "sources/inspect/decoders/decoder.h"
#include "sources/inspect/snapshot/stacks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define BEHIND_MOST 256 /* limit of threads besides the members */
#define STACKS_MOST 512 /* limit of threads whose stacks are unwound */

/* An incident being built: a growable array of elements for each section. */
struct builder {
    struct process_snapshot *snapshot;
    struct incident head;
    struct bytes sections[INCIDENT_SECTIONS];
    uint32_t *thread_of; /* by thread of the snapshot: index + 1, 0: not added */
    uint32_t *lock_of;   /* by lock of the snapshot: the same */
};

static const uint32_t element_sizes[INCIDENT_SECTIONS] = {
    [INCIDENT_THREADS] = sizeof(struct incident_thread),
    [INCIDENT_LOCKS] = sizeof(struct incident_lock),
    [INCIDENT_EDGES] = sizeof(struct incident_edge),
    [INCIDENT_WORDS] = sizeof(uint64_t),
    [INCIDENT_PROCESSES] = sizeof(struct incident_process),
    [INCIDENT_TEXT_FRAMES] = sizeof(struct incident_text_frame),
    [INCIDENT_STRINGS] = 1,
    [INCIDENT_MAPS] = 1,
};

/* ------------------------------------------------------------------ opening and closing */

static bool open_builder(struct builder *builder, struct process_snapshot *snapshot)
{
    const gordian_allocator *memory = &snapshot->memory;
    *builder = (struct builder){.snapshot = snapshot};
    builder->thread_of = memory_zeroed(memory, (snapshot->threads.count + 1) * sizeof(uint32_t));
    builder->lock_of = memory_zeroed(memory, (snapshot->locks.count + 1) * sizeof(uint32_t));
    for (size_t i = 0; i < INCIDENT_SECTIONS; i++)
        bytes_init(&builder->sections[i], memory);
    bytes_put(&builder->sections[INCIDENT_STRINGS], "", 1);
    return builder->thread_of && builder->lock_of;
}

static bool has_failed(const struct builder *builder)
{
    bool failed = builder->snapshot->failed;
    for (size_t i = 0; i < INCIDENT_SECTIONS; i++)
        failed = failed || builder->sections[i].failed;
    return failed;
}

static void close_builder(struct builder *builder)
{
    for (size_t i = 0; i < INCIDENT_SECTIONS; i++)
        bytes_free(&builder->sections[i]);
    memory_free_all(&builder->snapshot->memory, builder->thread_of, builder->lock_of);
}

static uint32_t add_string(struct builder *builder, const char *text)
{
    struct bytes *strings = &builder->sections[INCIDENT_STRINGS];
    uint32_t at = (uint32_t)strings->used;
    if (!text || !*text)
        return 0;
    bytes_put(strings, text, strlen(text) + 1);
    return at;
}

static uint32_t count_elements(const struct builder *builder, enum incident_section_id id)
{
    return (uint32_t)(builder->sections[id].used / element_sizes[id]);
}

/* Adds an element to a section, and returns its index. */
static uint32_t add_element(struct builder *builder, enum incident_section_id id,
                            const void *element)
{
    uint32_t index = count_elements(builder, id);
    bytes_put(&builder->sections[id], element, element_sizes[id]);
    return index;
}

static struct incident_thread *thread_at(struct builder *builder, uint32_t index)
{
    return (struct incident_thread *)builder->sections[INCIDENT_THREADS].data + index;
}

/* ------------------------------------------------------------------ processes */

static void add_processes(struct builder *builder)
{
    const struct process_snapshot *snapshot = builder->snapshot;
    for (size_t i = 0; i < snapshot->target_count; i++) {
        const struct target *target = snapshot->targets[i];
        const struct incident_process process = {
            .pid = target->seen_pid,
            .program = add_string(builder, target->program),
            .machine = target->machine,
            .root = add_string(builder, target->root),
            .files = add_string(builder, target->mapped),
            .maps_offset = builder->sections[INCIDENT_MAPS].used,
            .maps_size = target->maps_size,
        };
        add_element(builder, INCIDENT_PROCESSES, &process);
        bytes_put(&builder->sections[INCIDENT_MAPS], target->maps, target->maps_size);
    }
}

/* ------------------------------------------------------------------ threads */

/* Describes what a thread does that waits for no lock: "sleeps in epoll_wait", "runs". */
static const char *describe_activity(struct process_snapshot *snapshot, uint32_t index)
{
    const struct snapshot_thread *thread = snapshot_thread(snapshot, index);
    if (thread->doing)
        return thread->doing;
    if (thread->is.activity == TARGET_UNKNOWN)
        return "is stopped, or its state is unknown";
    if (!thread->sleeps)
        return "runs";
    const char *limit = thread->call.timed ? ", for a limited time" : "";
    if (thread->call.name)
        return snapshot_format(snapshot, "sleeps in %s%s", thread->call.name, limit);
    return snapshot_format(snapshot, "sleeps in system call %llu%s",
                           (unsigned long long)thread->is.call, limit);
}

/* Adds the lines of scripts that precede a machine frame. */
static size_t add_script_lines(struct builder *builder, uint32_t thread, size_t from, size_t before)
{
    const struct process_snapshot *snapshot = builder->snapshot;
    for (; from < snapshot->script_line_count; from++) {
        const struct snapshot_script_line *text = &snapshot->script_lines[from];
        if (text->thread != thread)
            continue;
        if (text->before > before)
            break;
        const struct incident_text_frame frame = {
            .function = add_string(builder, text->function),
            .file = add_string(builder, text->file),
            .line = text->line,
        };
        uint64_t word = INCIDENT_TEXT_FRAME - add_element(builder, INCIDENT_TEXT_FRAMES, &frame);
        add_element(builder, INCIDENT_WORDS, &word);
    }
    return from;
}

static void add_stack(struct builder *builder, uint32_t thread, struct incident_thread *to)
{
    const struct snapshot_stack *stack = stack_of(builder->snapshot, thread, STACK_LONG, true);
    size_t text = builder->snapshot->script_line_count;
    to->frames = count_elements(builder, INCIDENT_WORDS);
    decoders_lines(builder->snapshot, thread);
    for (size_t i = 0; i < stack->count; i++) {
        text = add_script_lines(builder, thread, text, i);
        if (!stack_is_watcher(builder->snapshot, thread, &stack->frames[i]))
            add_element(builder, INCIDENT_WORDS, &stack->frames[i].counter);
    }
    add_script_lines(builder, thread, text, SIZE_MAX);
    to->frame_count = count_elements(builder, INCIDENT_WORDS) - to->frames;
}

/* Returns the name of a thread; "": it has the name of the process, so it was not named. */
static const char *own_name(const struct process_snapshot *snapshot,
                            const struct snapshot_thread *thread)
{
    uint32_t first = snapshot_find_thread(snapshot, thread->process,
                                          snapshot_target(snapshot, thread->process)->pid);
    bool same = first != SNAPSHOT_NONE && thread != snapshot_thread(snapshot, first) &&
                strcmp(snapshot_thread(snapshot, first)->is.name, thread->is.name) == 0;
    return same ? "" : thread->is.name;
}

static uint32_t add_thread(struct builder *builder, uint32_t index)
{
    struct process_snapshot *snapshot = builder->snapshot;
    if (builder->thread_of[index])
        return builder->thread_of[index] - 1;
    const struct snapshot_thread *from = snapshot_thread(snapshot, index);
    const struct target *target = snapshot->targets[from->process];
    struct incident_thread to = {
        .tid = from->is.seen_tid,
        .flags = from->is.tid == target->pid ? (uint32_t)INCIDENT_MAIN : 0,
        .name = add_string(builder, own_name(snapshot, from)),
        .wait = INCIDENT_NONE,
        .process = from->process,
    };
    /* The bounds of its stack, to describe locks on it. */
    const struct target_mapping *mapping =
        from->is.stack ? target_mapping(target, from->is.stack) : NULL;
    if (mapping && mapping->path[0] != '/') {
        to.stack_low = from->is.stack;
        to.stack_high = mapping->high;
    }
    if (from->wait == SNAPSHOT_NONE)
        to.doing = add_string(builder, describe_activity(snapshot, index));
    if (count_elements(builder, INCIDENT_THREADS) < STACKS_MOST)
        add_stack(builder, index, &to);
    builder->thread_of[index] = add_element(builder, INCIDENT_THREADS, &to) + 1;
    return builder->thread_of[index] - 1;
}

/* Adds an ended thread, of which only the ID is known. */
static uint32_t add_ended_thread(struct builder *builder, uint32_t lock)
{
    const struct incident_thread to = {
        .tid = snapshot_lock(builder->snapshot, lock)->owner_tid,
        .flags = INCIDENT_ENDED,
        .wait = INCIDENT_NONE,
        .process = snapshot_lock(builder->snapshot, lock)->process,
    };
    return add_element(builder, INCIDENT_THREADS, &to);
}

/* ------------------------------------------------------------------ locks and edges */

static uint32_t add_lock(struct builder *builder, uint32_t index)
{
    if (builder->lock_of[index])
        return builder->lock_of[index] - 1;
    const struct snapshot_lock *from = snapshot_lock(builder->snapshot, index);
    const struct incident_lock to = {
        .address = from->address,
        .kind = from->kind,
        .flags = from->facts.flags,
        .name = add_string(builder, from->facts.name),
        .target = from->target == SNAPSHOT_NONE ? INCIDENT_NONE : add_thread(builder, from->target),
        .owner_tid = from->owner_tid,
        .units = from->facts.units,
        .missing = from->facts.missing,
        .process = from->process,
    };
    builder->lock_of[index] = add_element(builder, INCIDENT_LOCKS, &to) + 1;
    return builder->lock_of[index] - 1;
}

static void add_edge(struct builder *builder, uint32_t index, uint32_t flags)
{
    const struct wait_for_edge *from = snapshot_edge(builder->snapshot, index);
    bool aside =
        from->word == WORD_LIKELY && builder->head.word != INCIDENT_LIKELY && from->evidence;
    uint32_t lock = add_lock(builder, from->lock);
    const struct incident_edge to = {
        .lock = lock,
        .thread = from->thread == SNAPSHOT_GONE ? add_ended_thread(builder, from->lock)
                                                : add_thread(builder, from->thread),
        .mode = from->mode,
        .flags = from->flags | flags,
        .units = 1,
        .outer = INCIDENT_NONE,
        .evidence = add_string(
            builder, aside ? snapshot_format(builder->snapshot, "likely, %s", from->evidence)
                           : from->evidence),
    };
    uint32_t edge = add_element(builder, INCIDENT_EDGES, &to);
    if (has_failed(builder) || !(from->flags & INCIDENT_WAITS))
        return;
    thread_at(builder, to.thread)->wait = edge;
    thread_at(builder, to.thread)->flags |= INCIDENT_WAITING;
}

/* ------------------------------------------------------------------ findings and status */

static void add_finding(struct builder *builder, const struct inspect_finding *finding)
{
    struct process_snapshot *snapshot = builder->snapshot;
    builder->head.word = finding->word;
    for (size_t i = 0; i < finding->edge_count; i++)
        add_edge(builder, finding->edges[i], INCIDENT_WITNESS);
    for (size_t i = 0; i < finding->behind_count && i < BEHIND_MOST; i++)
        add_edge(builder, snapshot_thread(snapshot, finding->behind[i])->wait, 0);
    for (size_t i = 0; i < finding->member_count && !has_failed(builder); i++)
        thread_at(builder, add_thread(builder, finding->members[i]))->flags |= INCIDENT_STUCK;
    for (size_t i = 0; i < finding->behind_count && i < BEHIND_MOST && !has_failed(builder); i++)
        thread_at(builder, add_thread(builder, finding->behind[i]))->flags |= INCIDENT_STUCK;
    builder->head.kind = finding->kind;
    builder->head.cycle = finding->cycle;
    const char *note = finding->note;
    builder->head.behind = (uint32_t)finding->behind_count;
    if (finding->behind_count > BEHIND_MOST)
        note = snapshot_format(snapshot,
                               "%s %d of the %zu threads that are blocked behind it are listed.",
                               note, BEHIND_MOST, finding->behind_count);
    builder->head.note = add_string(builder, note);
    builder->head.first =
        finding->member_count ? add_thread(builder, finding->members[0]) : INCIDENT_NONE;
}

/* Returns what is unknown about waits, and what would help: each sentence once. */
static const char *join_unknown(struct process_snapshot *snapshot)
{
    const char *all = "";
    for (size_t i = 0; i < snapshot_thread_count(snapshot); i++) {
        const char *unknown = snapshot_thread(snapshot, i)->unknown;
        if (unknown && snapshot_thread(snapshot, i)->is.steady && !strstr(all, unknown))
            all = snapshot_format(snapshot, "%s%sThread %u %s.", all, *all ? " " : "",
                                  snapshot_thread(snapshot, i)->is.seen_tid, unknown);
    }
    return all;
}

static void add_status(struct builder *builder)
{
    struct process_snapshot *snapshot = builder->snapshot;
    for (uint32_t i = 0; i < snapshot_thread_count(snapshot); i++)
        add_thread(builder, i);
    for (uint32_t i = 0; i < snapshot->edges.count; i++)
        if (!(snapshot_edge(snapshot, i)->flags & INCIDENT_COULD))
            add_edge(builder, i, 0);
    builder->head.note = add_string(builder, join_unknown(snapshot));
    builder->head.kind = INCIDENT_STATUS;
    builder->head.word = INCIDENT_UNKNOWN;
    builder->head.first = INCIDENT_NONE;
}

/* ------------------------------------------------------------------ writing */

static bool write_sections(struct builder *builder, int fd, uint64_t *at)
{
    static const char padding[8];
    bool done = true;
    for (size_t id = 0; id < INCIDENT_SECTIONS && done; id++) {
        const struct bytes *section = &builder->sections[id];
        size_t gap = (8 - *at % 8) % 8;
        if (!element_sizes[id])
            continue;
        *at += gap;
        builder->head.sections[id] =
            (struct incident_section){*at, section->used / element_sizes[id], element_sizes[id], 0};
        *at += section->used;
        done = write_whole(fd, padding, gap) &&
               write_whole(fd, (const char *)section->data, section->used);
    }
    return done;
}

/* Returns a descriptor of memory with the incident; -1: see errno. */
static int write_incident(struct builder *builder)
{
    struct incident *head = &builder->head;
    uint64_t at = sizeof *head;
    int fd = memfd_create("gordian-inspect", MFD_CLOEXEC);
    bool done = fd >= 0 && write_whole(fd, (const char *)head, sizeof *head) &&
                write_sections(builder, fd, &at);
    head->total_size = at;
    done = done && pwrite(fd, head, sizeof *head, 0) == (ssize_t)sizeof *head &&
           lseek(fd, 0, SEEK_SET) == 0;
    if (!done && fd >= 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void fill_head(struct builder *builder, const struct inspect_findings *findings,
                      const struct inspect_finding *finding)
{
    struct incident *head = &builder->head;
    const struct process_snapshot *snapshot = builder->snapshot;
    uint32_t process = finding && finding->member_count
                           ? snapshot_thread(snapshot, finding->members[0])->process
                           : 0;
    const struct target *target = snapshot_target(snapshot, process);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    memcpy(head->magic, INCIDENT_MAGIC, sizeof head->magic);
    head->version = INCIDENT_VERSION;
    head->header_size = sizeof *head;
    head->machine = target->machine;
    head->action = INCIDENT_GO_ON;
    head->number = 1;
    head->pid = target->seen_pid;
    head->time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    head->program = add_string(builder, target->program);
    head->engine = add_string(builder, findings->engine);
    head->threads_watched = snapshot_thread_count(snapshot);
    head->locks_watched = snapshot_lock_count(builder->snapshot);
}

gordian_status inspect_open_report(struct report *report, struct process_snapshot *snapshot,
                                   const struct inspect_findings *findings,
                                   const struct inspect_finding *finding, gordian_error *error)
{
    struct builder builder;
    gordian_status status = GORDIAN_OK;
    int fd = -1;
    /* Opens the symbols that the report uses. */
    for (uint32_t i = 0; i < snapshot_target_count(snapshot); i++)
        snapshot_symbols(snapshot, i);
    if (!open_builder(&builder, snapshot)) {
        close_builder(&builder);
        return fail_memory(error);
    }
    add_processes(&builder);
    fill_head(&builder, findings, finding);
    if (finding)
        add_finding(&builder, finding);
    else
        add_status(&builder);
    if (has_failed(&builder))
        status = fail_memory(error);
    if (status == GORDIAN_OK && (fd = write_incident(&builder)) < 0)
        status = fail(error, GORDIAN_STATUS_IO, "cannot create the report: %s", strerror(errno));
    close_builder(&builder);
    THEN(status,
         report_open_with(report, fd, snapshot->symbols, snapshot_target_count(snapshot), error));
    if (fd >= 0)
        close(fd);
    return status;
}
