#define _GNU_SOURCE
#include "sources/inspect/incident.h"

#include "foundation/base/error.h"
#include "sources/inspect/decoders/decoder.h"
#include "sources/inspect/snapshot/stacks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define BEHIND_MOST 256 /* threads that are told of besides the members */
#define STACKS_MOST 512 /* threads that are unwound for a report */

/* An incident being put together. */
struct draft {
    struct process_snapshot *snapshot;
    struct incident head;
    struct incident_thread *threads;
    struct incident_lock *locks;
    struct incident_edge *edges;
    struct incident_process *processes;
    struct incident_text_frame *texts;
    uint64_t *words;
    size_t thread_count, thread_room, lock_count, lock_room, edge_count, edge_room;
    size_t process_count, process_room, text_count, text_room, word_count, word_room;
    struct output strings, maps;
    uint32_t *thread_of; /* by the snapshot's thread: index + 1, 0: not there */
    uint32_t *lock_of;   /* by the snapshot's lock: likewise */
    bool failed;
};

/* ------------------------------------------------------------------ opening and closing */

static bool draft_open(struct draft *draft, struct process_snapshot *snapshot)
{
    *draft = (struct draft){.snapshot = snapshot};
    draft->thread_of = memory_zeroed(&snapshot->memory, (snapshot_thread_count(snapshot) + 1) *
                                                            sizeof *draft->thread_of);
    draft->lock_of = memory_zeroed(&snapshot->memory,
                                   (snapshot_lock_count(snapshot) + 1) * sizeof *draft->lock_of);
    bool opened = output_open(&draft->strings, OUTPUT_MEMORY);
    opened = output_open(&draft->maps, OUTPUT_MEMORY) && opened;
    if (opened)
        output_char(&draft->strings, '\0');
    return draft->thread_of && draft->lock_of && opened;
}

static void draft_close(struct draft *draft)
{
    output_close(&draft->strings);
    output_close(&draft->maps);
    memory_free_all(&draft->snapshot->memory, draft->threads, draft->locks, draft->edges,
                    draft->processes, draft->texts, draft->words, draft->thread_of, draft->lock_of);
}

static uint32_t draft_string(struct draft *draft, const char *text)
{
    uint32_t at = (uint32_t)draft->strings.used;
    if (!text || !*text)
        return 0;
    output_bytes(&draft->strings, text, strlen(text) + 1);
    return at;
}

/* One more element of a list of the draft; NULL: out of memory. */
static void *draft_add(struct draft *draft, void *list, size_t *count, size_t *room, size_t size)
{
    void *array;
    if (!memory_grow(&draft->snapshot->memory, list, room, *count + 1, size)) {
        draft->failed = true;
        return NULL;
    }
    memcpy(&array, list, sizeof array);
    void *element = (char *)array + (*count)++ * size;
    memset(element, 0, size);
    return element;
}

static void draft_word(struct draft *draft, uint64_t word)
{
    uint64_t *place =
        draft_add(draft, &draft->words, &draft->word_count, &draft->word_room, sizeof *place);
    if (place)
        *place = word;
}

/* ------------------------------------------------------------------ processes */

static void draft_processes(struct draft *draft)
{
    const struct process_snapshot *snapshot = draft->snapshot;
    for (size_t i = 0; i < snapshot_target_count(snapshot); i++) {
        const struct target *target = snapshot_target(snapshot, i);
        struct incident_process *process = draft_add(
            draft, &draft->processes, &draft->process_count, &draft->process_room, sizeof *process);
        if (!process)
            return;
        process->pid = target->seen_pid;
        process->program = draft_string(draft, target->program);
        process->machine = target->machine;
        process->root = draft_string(draft, target->root);
        process->files = draft_string(draft, target->mapped);
        process->maps_offset = draft->maps.used;
        process->maps_size = target->maps_size;
        output_bytes(&draft->maps, target->maps, target->maps_size);
    }
}

/* ------------------------------------------------------------------ threads */

/* What a thread does that waits for no lock, in words: "sleeps in epoll_wait", "runs". */
static const char *tell_doing(struct process_snapshot *snapshot, uint32_t index)
{
    const struct snapshot_thread *thread = snapshot_thread(snapshot, index);
    if (thread->doing)
        return thread->doing;
    if (thread->is.activity == TARGET_UNKNOWN)
        return "is stopped, or does something that cannot be told";
    if (!thread->sleeps)
        return "runs";
    const char *limit = thread->call.timed ? ", for a limited time" : "";
    if (thread->call.name)
        return snapshot_format(snapshot, "sleeps in %s%s", thread->call.name, limit);
    return snapshot_format(snapshot, "sleeps in system call %llu%s",
                           (unsigned long long)thread->is.call, limit);
}

/* The lines of scripts that belong before a frame of the machine. */
static size_t draft_texts(struct draft *draft, uint32_t thread, size_t from, size_t before)
{
    const struct process_snapshot *snapshot = draft->snapshot;
    for (; from < snapshot->script_line_count; from++) {
        const struct snapshot_script_line *text = &snapshot->script_lines[from];
        if (text->thread != thread)
            continue;
        if (text->before > before)
            break;
        uint64_t number = draft->text_count;
        struct incident_text_frame *frame =
            draft_add(draft, &draft->texts, &draft->text_count, &draft->text_room, sizeof *frame);
        if (!frame)
            break;
        frame->function = draft_string(draft, text->function);
        frame->file = draft_string(draft, text->file);
        frame->line = text->line;
        draft_word(draft, INCIDENT_TEXT_FRAME - number);
    }
    return from;
}

static void draft_stack(struct draft *draft, uint32_t thread, struct incident_thread *to)
{
    const struct snapshot_stack *stack = stack_of(draft->snapshot, thread, STACK_LONG, true);
    size_t text = draft->snapshot->script_line_count, first = draft->word_count;
    decoders_lines(draft->snapshot, thread);
    for (size_t i = 0; i < stack->count; i++) {
        text = draft_texts(draft, thread, text, i);
        if (!stack_is_watcher(draft->snapshot, thread, &stack->frames[i]))
            draft_word(draft, stack->frames[i].counter);
    }
    draft_texts(draft, thread, text, SIZE_MAX);
    to->frames = (uint32_t)first;
    to->frame_count = (uint32_t)(draft->word_count - first);
}

/* Where the stack of a thread is: locks on it are told by that. */
static void stack_bounds(const struct target *target, const struct target_thread *thread,
                         struct incident_thread *to)
{
    const struct target_mapping *mapping =
        thread->stack ? target_mapping(target, thread->stack) : NULL;
    if (!mapping || mapping->path[0] == '/')
        return;
    to->stack_low = thread->stack;
    to->stack_high = mapping->high;
}

/* The name it was given; "": it is called like the process, since nobody named it. */
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
    struct incident_thread *to =
        draft_add(draft, &draft->threads, &draft->thread_count, &draft->thread_room, sizeof *to);
    if (!to)
        return INCIDENT_NONE;
    draft->thread_of[index] = (uint32_t)draft->thread_count;
    const struct snapshot_thread *from = snapshot_thread(snapshot, index);
    const struct target *target = snapshot_target(snapshot, from->process);
    to->tid = from->is.seen_tid;
    to->flags = from->is.tid == target->pid ? (uint32_t)INCIDENT_MAIN : 0;
    to->name = draft_string(draft, own_name(snapshot, from));
    to->wait = INCIDENT_NONE;
    to->process = from->process;
    stack_bounds(target, &from->is, to);
    if (from->wait == SNAPSHOT_NONE)
        to->doing = draft_string(draft, tell_doing(snapshot, index));
    struct incident_thread filled = *to;
    if (draft->thread_count <= STACKS_MOST)
        draft_stack(draft, index, &filled);
    draft->threads[draft->thread_of[index] - 1] = filled;
    return draft->thread_of[index] - 1;
}

/* One of whom only the number is left. */
static uint32_t draft_gone(struct draft *draft, uint32_t lock)
{
    struct incident_thread *to =
        draft_add(draft, &draft->threads, &draft->thread_count, &draft->thread_room, sizeof *to);
    if (!to)
        return INCIDENT_NONE;
    to->tid = snapshot_lock(draft->snapshot, lock)->owner_tid;
    to->flags = INCIDENT_ENDED;
    to->wait = INCIDENT_NONE;
    to->process = snapshot_lock(draft->snapshot, lock)->process;
    return (uint32_t)draft->thread_count - 1;
}

/* ------------------------------------------------------------------ locks and edges */

static uint32_t draft_lock(struct draft *draft, uint32_t index)
{
    if (draft->lock_of[index])
        return draft->lock_of[index] - 1;
    struct incident_lock *to =
        draft_add(draft, &draft->locks, &draft->lock_count, &draft->lock_room, sizeof *to);
    if (!to)
        return INCIDENT_NONE;
    uint32_t number = draft->lock_of[index] = (uint32_t)draft->lock_count;
    const struct snapshot_lock *from = snapshot_lock(draft->snapshot, index);
    *to = (struct incident_lock){
        .address = from->address,
        .kind = from->kind,
        .flags = from->facts.flags,
        .name = draft_string(draft, from->facts.name),
        .target = INCIDENT_NONE,
        .owner_tid = from->owner_tid,
        .units = from->facts.units,
        .missing = from->facts.missing,
        .process = from->process,
    };
    if (from->target != SNAPSHOT_NONE) {
        uint32_t target = draft_thread(draft, from->target);
        draft->locks[number - 1].target = target;
    }
    return number - 1;
}

static void draft_edge(struct draft *draft, uint32_t index, uint32_t flags)
{
    const struct wait_for_edge from = *snapshot_edge(draft->snapshot, index);
    uint32_t lock = draft_lock(draft, from.lock);
    uint32_t thread = from.thread == SNAPSHOT_GONE ? draft_gone(draft, from.lock)
                                                   : draft_thread(draft, from.thread);
    bool aside = from.word == WORD_LIKELY && draft->head.word != INCIDENT_LIKELY && from.evidence;
    const char *evidence =
        aside ? snapshot_format(draft->snapshot, "likely, %s", from.evidence) : from.evidence;
    struct incident_edge *to =
        draft_add(draft, &draft->edges, &draft->edge_count, &draft->edge_room, sizeof *to);
    if (!to || draft->failed)
        return;
    *to = (struct incident_edge){
        .thread = thread,
        .lock = lock,
        .mode = from.mode,
        .flags = from.flags | flags,
        .units = 1,
        .outer = INCIDENT_NONE,
        .evidence = draft_string(draft, evidence),
    };
    if (from.flags & INCIDENT_WAITS) {
        draft->threads[thread].wait = (uint32_t)draft->edge_count - 1;
        draft->threads[thread].flags |= INCIDENT_WAITING;
    }
}

/* ------------------------------------------------------------------ what is told */

static void draft_finding(struct draft *draft, const struct inspect_finding *finding)
{
    struct process_snapshot *snapshot = draft->snapshot;
    draft->head.word = finding->word;
    for (size_t i = 0; i < finding->edge_count; i++)
        draft_edge(draft, finding->edges[i], INCIDENT_WITNESS);
    for (size_t i = 0; i < finding->behind_count && i < BEHIND_MOST; i++)
        draft_edge(draft, snapshot_thread(snapshot, finding->behind[i])->wait, 0);
    for (size_t i = 0; i < finding->member_count && !draft->failed; i++)
        draft->threads[draft_thread(draft, finding->members[i])].flags |= INCIDENT_STUCK;
    for (size_t i = 0; i < finding->behind_count && i < BEHIND_MOST && !draft->failed; i++)
        draft->threads[draft_thread(draft, finding->behind[i])].flags |= INCIDENT_STUCK;
    draft->head.kind = finding->kind;
    draft->head.cycle = finding->cycle;
    const char *note = finding->note;
    draft->head.behind = (uint32_t)finding->behind_count;
    if (finding->behind_count > BEHIND_MOST)
        note = snapshot_format(snapshot, "%s %d of the %zu threads that wait behind it are listed.",
                               note, BEHIND_MOST, finding->behind_count);
    draft->head.note = draft_string(draft, note);
    draft->head.first =
        finding->member_count ? draft_thread(draft, finding->members[0]) : INCIDENT_NONE;
}

/* What cannot be known of somebody's wait, and what would help: each sentence once. */
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

static bool put_section(struct draft *draft, int fd, uint64_t *at, unsigned id,
                        const void *elements, size_t count, size_t size)
{
    static const char padding[8];
    size_t gap = (8 - *at % 8) % 8;
    *at += gap;
    draft->head.sections[id] = (struct incident_section){*at, count, (uint32_t)size, 0};
    *at += count * size;
    return write_whole(fd, padding, gap) && (!count || write_whole(fd, elements, count * size));
}

static bool write_sections(struct draft *draft, int fd, uint64_t *at)
{
    return put_section(draft, fd, at, INCIDENT_THREADS, draft->threads, draft->thread_count,
                       sizeof *draft->threads) &&
           put_section(draft, fd, at, INCIDENT_LOCKS, draft->locks, draft->lock_count,
                       sizeof *draft->locks) &&
           put_section(draft, fd, at, INCIDENT_EDGES, draft->edges, draft->edge_count,
                       sizeof *draft->edges) &&
           put_section(draft, fd, at, INCIDENT_WORDS, draft->words, draft->word_count,
                       sizeof *draft->words) &&
           put_section(draft, fd, at, INCIDENT_PROCESSES, draft->processes, draft->process_count,
                       sizeof *draft->processes) &&
           put_section(draft, fd, at, INCIDENT_TEXT_FRAMES, draft->texts, draft->text_count,
                       sizeof *draft->texts) &&
           put_section(draft, fd, at, INCIDENT_STRINGS, draft->strings.buffer, draft->strings.used,
                       1) &&
           put_section(draft, fd, at, INCIDENT_MAPS, draft->maps.buffer, draft->maps.used, 1);
}

/* Memory with a descriptor that has it all; -1: errno. */
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
    /* Opens the symbols that are to be lent. */
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
    if (draft.failed || draft.strings.failure || draft.maps.failure || snapshot->failed)
        status = fail_memory(error);
    if (status == GORDIAN_OK && (fd = write_incident(&draft)) < 0)
        status =
            fail(error, GORDIAN_STATUS_IO, "cannot put the report together: %s", strerror(errno));
    draft_close(&draft);
    THEN(status,
         report_open_with(report, fd, snapshot->symbols, snapshot_target_count(snapshot), error));
    if (fd >= 0)
        close(fd);
    return status;
}
