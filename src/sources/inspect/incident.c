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
struct draft {
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

static bool draft_open(struct draft *draft, struct process_snapshot *snapshot)
{
    const gordian_allocator *memory = &snapshot->memory;
    *draft = (struct draft){.snapshot = snapshot};
    draft->thread_of = memory_zeroed(memory, (snapshot->threads.count + 1) * sizeof(uint32_t));
    draft->lock_of = memory_zeroed(memory, (snapshot->locks.count + 1) * sizeof(uint32_t));
    for (size_t i = 0; i < INCIDENT_SECTIONS; i++)
        bytes_init(&draft->sections[i], memory);
    bytes_put(&draft->sections[INCIDENT_STRINGS], "", 1);
    return draft->thread_of && draft->lock_of;
}

static bool has_failed(const struct draft *draft)
{
    bool failed = draft->snapshot->failed;
    for (size_t i = 0; i < INCIDENT_SECTIONS; i++)
        failed = failed || draft->sections[i].failed;
    return failed;
}

static void draft_close(struct draft *draft)
{
    for (size_t i = 0; i < INCIDENT_SECTIONS; i++)
        bytes_free(&draft->sections[i]);
    memory_free_all(&draft->snapshot->memory, draft->thread_of, draft->lock_of);
}

static uint32_t draft_string(struct draft *draft, const char *text)
{
    struct bytes *strings = &draft->sections[INCIDENT_STRINGS];
    uint32_t at = (uint32_t)strings->used;
    if (!text || !*text)
        return 0;
    bytes_put(strings, text, strlen(text) + 1);
    return at;
}

static uint32_t count_elements(const struct draft *draft, enum incident_section_id id)
{
    return (uint32_t)(draft->sections[id].used / element_sizes[id]);
}

/* Adds an element to a section, and returns its index. */
static uint32_t draft_add(struct draft *draft, enum incident_section_id id, const void *element)
{
    uint32_t index = count_elements(draft, id);
    bytes_put(&draft->sections[id], element, element_sizes[id]);
    return index;
}

static struct incident_thread *thread_at(struct draft *draft, uint32_t index)
{
    return (struct incident_thread *)draft->sections[INCIDENT_THREADS].data + index;
}

/* ------------------------------------------------------------------ processes */

static void draft_processes(struct draft *draft)
{
    const struct process_snapshot *snapshot = draft->snapshot;
    for (size_t i = 0; i < snapshot->target_count; i++) {
        const struct target *target = snapshot->targets[i];
        const struct incident_process process = {
            .pid = target->seen_pid,
            .program = draft_string(draft, target->program),
            .machine = target->machine,
            .root = draft_string(draft, target->root),
            .files = draft_string(draft, target->mapped),
            .maps_offset = draft->sections[INCIDENT_MAPS].used,
            .maps_size = target->maps_size,
        };
        draft_add(draft, INCIDENT_PROCESSES, &process);
        bytes_put(&draft->sections[INCIDENT_MAPS], target->maps, target->maps_size);
    }
}

/* ------------------------------------------------------------------ threads */

/* Describes what a thread does that waits for no lock: "sleeps in epoll_wait", "runs". */
static const char *tell_doing(struct process_snapshot *snapshot, uint32_t index)
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
static size_t draft_texts(struct draft *draft, uint32_t thread, size_t from, size_t before)
{
    const struct process_snapshot *snapshot = draft->snapshot;
    for (; from < snapshot->script_line_count; from++) {
        const struct snapshot_script_line *text = &snapshot->script_lines[from];
        if (text->thread != thread)
            continue;
        if (text->before > before)
            break;
        const struct incident_text_frame frame = {
            .function = draft_string(draft, text->function),
            .file = draft_string(draft, text->file),
            .line = text->line,
        };
        uint64_t word = INCIDENT_TEXT_FRAME - draft_add(draft, INCIDENT_TEXT_FRAMES, &frame);
        draft_add(draft, INCIDENT_WORDS, &word);
    }
    return from;
}

static void draft_stack(struct draft *draft, uint32_t thread, struct incident_thread *to)
{
    const struct snapshot_stack *stack = stack_of(draft->snapshot, thread, STACK_LONG, true);
    size_t text = draft->snapshot->script_line_count;
    to->frames = count_elements(draft, INCIDENT_WORDS);
    decoders_lines(draft->snapshot, thread);
    for (size_t i = 0; i < stack->count; i++) {
        text = draft_texts(draft, thread, text, i);
        if (!stack_is_watcher(draft->snapshot, thread, &stack->frames[i]))
            draft_add(draft, INCIDENT_WORDS, &stack->frames[i].counter);
    }
    draft_texts(draft, thread, text, SIZE_MAX);
    to->frame_count = count_elements(draft, INCIDENT_WORDS) - to->frames;
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

static uint32_t draft_thread(struct draft *draft, uint32_t index)
{
    struct process_snapshot *snapshot = draft->snapshot;
    if (draft->thread_of[index])
        return draft->thread_of[index] - 1;
    const struct snapshot_thread *from = snapshot_thread(snapshot, index);
    const struct target *target = snapshot->targets[from->process];
    struct incident_thread to = {
        .tid = from->is.seen_tid,
        .flags = from->is.tid == target->pid ? (uint32_t)INCIDENT_MAIN : 0,
        .name = draft_string(draft, own_name(snapshot, from)),
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
        to.doing = draft_string(draft, tell_doing(snapshot, index));
    if (count_elements(draft, INCIDENT_THREADS) < STACKS_MOST)
        draft_stack(draft, index, &to);
    draft->thread_of[index] = draft_add(draft, INCIDENT_THREADS, &to) + 1;
    return draft->thread_of[index] - 1;
}

/* Adds an ended thread, of which only the ID is known. */
static uint32_t draft_gone(struct draft *draft, uint32_t lock)
{
    const struct incident_thread to = {
        .tid = snapshot_lock(draft->snapshot, lock)->owner_tid,
        .flags = INCIDENT_ENDED,
        .wait = INCIDENT_NONE,
        .process = snapshot_lock(draft->snapshot, lock)->process,
    };
    return draft_add(draft, INCIDENT_THREADS, &to);
}

/* ------------------------------------------------------------------ locks and edges */

static uint32_t draft_lock(struct draft *draft, uint32_t index)
{
    if (draft->lock_of[index])
        return draft->lock_of[index] - 1;
    const struct snapshot_lock *from = snapshot_lock(draft->snapshot, index);
    const struct incident_lock to = {
        .address = from->address,
        .kind = from->kind,
        .flags = from->facts.flags,
        .name = draft_string(draft, from->facts.name),
        .target = from->target == SNAPSHOT_NONE ? INCIDENT_NONE : draft_thread(draft, from->target),
        .owner_tid = from->owner_tid,
        .units = from->facts.units,
        .missing = from->facts.missing,
        .process = from->process,
    };
    draft->lock_of[index] = draft_add(draft, INCIDENT_LOCKS, &to) + 1;
    return draft->lock_of[index] - 1;
}

static void draft_edge(struct draft *draft, uint32_t index, uint32_t flags)
{
    const struct wait_for_edge *from = snapshot_edge(draft->snapshot, index);
    bool aside = from->word == WORD_LIKELY && draft->head.word != INCIDENT_LIKELY && from->evidence;
    uint32_t lock = draft_lock(draft, from->lock);
    const struct incident_edge to = {
        .lock = lock,
        .thread = from->thread == SNAPSHOT_GONE ? draft_gone(draft, from->lock)
                                                : draft_thread(draft, from->thread),
        .mode = from->mode,
        .flags = from->flags | flags,
        .units = 1,
        .outer = INCIDENT_NONE,
        .evidence = draft_string(
            draft, aside ? snapshot_format(draft->snapshot, "likely, %s", from->evidence)
                         : from->evidence),
    };
    uint32_t edge = draft_add(draft, INCIDENT_EDGES, &to);
    if (has_failed(draft) || !(from->flags & INCIDENT_WAITS))
        return;
    thread_at(draft, to.thread)->wait = edge;
    thread_at(draft, to.thread)->flags |= INCIDENT_WAITING;
}

/* ------------------------------------------------------------------ findings and status */

static void draft_finding(struct draft *draft, const struct inspect_finding *finding)
{
    struct process_snapshot *snapshot = draft->snapshot;
    draft->head.word = finding->word;
    for (size_t i = 0; i < finding->edge_count; i++)
        draft_edge(draft, finding->edges[i], INCIDENT_WITNESS);
    for (size_t i = 0; i < finding->behind_count && i < BEHIND_MOST; i++)
        draft_edge(draft, snapshot_thread(snapshot, finding->behind[i])->wait, 0);
    for (size_t i = 0; i < finding->member_count && !has_failed(draft); i++)
        thread_at(draft, draft_thread(draft, finding->members[i]))->flags |= INCIDENT_STUCK;
    for (size_t i = 0; i < finding->behind_count && i < BEHIND_MOST && !has_failed(draft); i++)
        thread_at(draft, draft_thread(draft, finding->behind[i]))->flags |= INCIDENT_STUCK;
    draft->head.kind = finding->kind;
    draft->head.cycle = finding->cycle;
    const char *note = finding->note;
    draft->head.behind = (uint32_t)finding->behind_count;
    if (finding->behind_count > BEHIND_MOST)
        note = snapshot_format(snapshot,
                               "%s %d of the %zu threads that are blocked behind it are listed.",
                               note, BEHIND_MOST, finding->behind_count);
    draft->head.note = draft_string(draft, note);
    draft->head.first =
        finding->member_count ? draft_thread(draft, finding->members[0]) : INCIDENT_NONE;
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

static void draft_status(struct draft *draft)
{
    struct process_snapshot *snapshot = draft->snapshot;
    for (uint32_t i = 0; i < snapshot_thread_count(snapshot); i++)
        draft_thread(draft, i);
    for (uint32_t i = 0; i < snapshot->edges.count; i++)
        if (!(snapshot_edge(snapshot, i)->flags & INCIDENT_COULD))
            draft_edge(draft, i, 0);
    draft->head.note = draft_string(draft, join_unknown(snapshot));
    draft->head.kind = INCIDENT_STATUS;
    draft->head.word = INCIDENT_UNKNOWN;
    draft->head.first = INCIDENT_NONE;
}

/* ------------------------------------------------------------------ writing */

static bool write_sections(struct draft *draft, int fd, uint64_t *at)
{
    static const char padding[8];
    bool done = true;
    for (size_t id = 0; id < INCIDENT_SECTIONS && done; id++) {
        const struct bytes *section = &draft->sections[id];
        size_t gap = (8 - *at % 8) % 8;
        if (!element_sizes[id])
            continue;
        *at += gap;
        draft->head.sections[id] =
            (struct incident_section){*at, section->used / element_sizes[id], element_sizes[id], 0};
        *at += section->used;
        done = write_whole(fd, padding, gap) &&
               write_whole(fd, (const char *)section->data, section->used);
    }
    return done;
}

/* Returns a descriptor of memory with the incident; -1: see errno. */
static int write_incident(struct draft *draft)
{
    struct incident *head = &draft->head;
    uint64_t at = sizeof *head;
    int fd = memfd_create("gordian-inspect", MFD_CLOEXEC);
    bool done = fd >= 0 && write_whole(fd, (const char *)head, sizeof *head) &&
                write_sections(draft, fd, &at);
    head->total_size = at;
    done = done && pwrite(fd, head, sizeof *head, 0) == (ssize_t)sizeof *head &&
           lseek(fd, 0, SEEK_SET) == 0;
    if (!done && fd >= 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void fill_head(struct draft *draft, const struct inspect_findings *findings,
                      const struct inspect_finding *finding)
{
    struct incident *head = &draft->head;
    const struct process_snapshot *snapshot = draft->snapshot;
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
    head->program = draft_string(draft, target->program);
    head->engine = draft_string(draft, findings->engine);
    head->threads_watched = snapshot_thread_count(snapshot);
    head->locks_watched = snapshot_lock_count(draft->snapshot);
}

gordian_status tell_open(struct report *report, struct process_snapshot *snapshot,
                         const struct inspect_findings *findings,
                         const struct inspect_finding *finding, gordian_error *error)
{
    struct draft draft;
    gordian_status status = GORDIAN_OK;
    int fd = -1;
    /* Opens the symbols that the report uses. */
    for (uint32_t i = 0; i < snapshot_target_count(snapshot); i++)
        snapshot_symbols(snapshot, i);
    if (!draft_open(&draft, snapshot)) {
        draft_close(&draft);
        return fail_memory(error);
    }
    draft_processes(&draft);
    fill_head(&draft, findings, finding);
    if (finding)
        draft_finding(&draft, finding);
    else
        draft_status(&draft);
    if (has_failed(&draft))
        status = fail_memory(error);
    if (status == GORDIAN_OK && (fd = write_incident(&draft)) < 0)
        status = fail(error, GORDIAN_STATUS_IO, "cannot create the report: %s", strerror(errno));
    draft_close(&draft);
    THEN(status,
         report_open_with(report, fd, snapshot->symbols, snapshot_target_count(snapshot), error));
    if (fd >= 0)
        close(fd);
    return status;
}
