/* Opens reports, and words for titles, kinds and locks. */
#include "output/report/report.h"

#include "foundation/base/error.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ memory */

void *report_alloc(struct report *report, size_t size)
{
    void *found = arena_alloc(&report->arena, size);
    report->out_of_memory = report->out_of_memory || !found;
    return found;
}

const char *report_format(struct report *report, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = arena_format(&report->arena, format, arguments);
    va_end(arguments);
    report->out_of_memory = report->out_of_memory || !text;
    return text ? text : "?";
}

/* ------------------------------------------------------------------ opening */

/* Opens the symbols of each process: the given symbols, or the symbols of its part of the memory
 * map. */
static void open_symbols(struct report *report, struct symbols *const *symbols, size_t count)
{
    const struct incident_section *maps = &report->head.sections[INCIDENT_MAPS];
    bool there = maps->offset <= report->size && maps->count <= report->size - maps->offset;
    for (size_t i = 0; i < report->process_count; i++) {
        struct report_process *process = &report->processes[i];
        const struct incident_process *raw = &process->raw;
        const struct symbol_files files = {.root = report_string(report, raw->root),
                                           .mapped = report_string(report, raw->files)};
        if (i < count) {
            process->symbols = symbols[i];
            process->borrowed = true;
        } else if (there && maps->size == 1 && report->head.kind != INCIDENT_SUMMARY &&
                   raw->maps_offset <= maps->count &&
                   raw->maps_size <= maps->count - raw->maps_offset) {
            process->symbols = symbols_open(report->data + maps->offset + raw->maps_offset,
                                            (size_t)raw->maps_size, &files);
        }
    }
}

gordian_status report_open(struct report *report, int fd, gordian_error *error)
{
    return report_open_with(report, fd, NULL, 0, error);
}

gordian_status report_open_with(struct report *report, int fd, struct symbols *const *symbols,
                                size_t count, gordian_error *error)
{
    *report = (struct report){.source = symbols ? "inspect" : "run"};
    gordian_status status = report_read(report, fd, error);
    if (status != GORDIAN_OK) {
        report_close(report);
        return status;
    }
    open_symbols(report, symbols, count);
    report_stacks(report);
    report_names(report);
    if (report->out_of_memory) {
        report_close(report);
        return fail_memory(error);
    }
    return GORDIAN_OK;
}

void report_close(struct report *report)
{
    gordian_allocator memory = memory_allocator(NULL);
    for (size_t i = 0; i < report->process_count; i++)
        if (!report->processes[i].borrowed)
            symbols_close(report->processes[i].symbols);
    arena_free(&report->arena);
    memory_free(&memory, (void *)(uintptr_t)report->data);
    *report = (struct report){0};
}

/* ------------------------------------------------------------------ words */

const char *report_kind(const struct report *report)
{
    static const char *const kinds[] = {
        [INCIDENT_DEADLOCK] = "deadlock",   [INCIDENT_OWNER_GONE] = "owner-gone",
        [INCIDENT_POTENTIAL] = "potential", [INCIDENT_STALL] = "stall",
        [INCIDENT_STATUS] = "status",       [INCIDENT_SUMMARY] = "summary",
    };
    unsigned kind = report->head.kind;
    return kind >= INCIDENT_DEADLOCK && kind <= INCIDENT_SUMMARY ? kinds[kind] : "unknown";
}

const char *report_verdict_text(const struct report *report)
{
    static const char *const words[] = {
        [INCIDENT_PROVED] = "proved",
        [INCIDENT_LIKELY] = "likely",
        [INCIDENT_UNKNOWN] = "unknown",
    };
    unsigned word = report->head.word;
    return word >= INCIDENT_PROVED && word <= INCIDENT_UNKNOWN ? words[word] : NULL;
}

static size_t count_threads(const struct report *report, unsigned flag)
{
    size_t count = 0;
    for (size_t i = 0; i < report->thread_count; i++)
        count += (report->threads[i].raw.flags & flag) != 0;
    return count;
}

bool report_has_open_wait(const struct report *report)
{
    for (size_t i = 0; i < report->witness_count; i++) {
        const struct incident_edge *wait = &report->edges[i].raw;
        bool held = !(wait->flags & INCIDENT_WAITS);
        for (size_t k = 0; k < report->witness_count && !held; k++) {
            const struct incident_edge *hold = &report->edges[k].raw;
            held = hold->lock == wait->lock && !(hold->flags & (INCIDENT_WAITS | INCIDENT_COULD));
        }
        if (!held)
            return true;
    }
    return false;
}

/* Returns the kind that all members wait for, apart from the ends of threads; 0 if there are
 * several. */
static unsigned awaited_kind(const struct report *report)
{
    unsigned found = 0;
    for (size_t i = 0; i < report->witness_count; i++) {
        const struct incident_edge *wait = &report->edges[i].raw;
        unsigned kind = report->locks[wait->lock].raw.kind;
        if (!(wait->flags & INCIDENT_WAITS) || kind == INCIDENT_THREAD_END)
            continue;
        if (found && found != kind)
            return 0;
        found = kind;
    }
    return found;
}

/* Returns the first wait for this kind. */
static const struct incident_edge *awaited_edge(const struct report *report, unsigned kind)
{
    for (size_t i = 0; i < report->witness_count; i++) {
        const struct incident_edge *wait = &report->edges[i].raw;
        if ((wait->flags & INCIDENT_WAITS) && report->locks[wait->lock].raw.kind == kind)
            return wait;
    }
    return NULL;
}

/* Counts the distinct locks of a kind that are waited for. */
static size_t count_awaited(const struct report *report, unsigned kind)
{
    size_t count = 0;
    for (uint32_t lock = 0; lock < report->lock_count; lock++) {
        bool awaited = false;
        for (size_t i = 0; i < report->witness_count && !awaited; i++)
            awaited = report->edges[i].raw.lock == lock &&
                      report->edges[i].raw.flags & INCIDENT_WAITS &&
                      report->locks[lock].raw.kind == kind;
        count += awaited;
    }
    return count;
}

bool report_is_unsignalled(const struct report *report)
{
    unsigned kind = awaited_kind(report);
    return report_has_open_wait(report) &&
           (kind == INCIDENT_SEMAPHORE ||
            (kind == INCIDENT_CONDITION && count_awaited(report, kind) == 1));
}

/* Writes the title if no remaining thread could release the awaited lock. Whether a signal was lost
 * or never sent is not known. False: the title does not apply. */
static bool open_title(const struct report *report, size_t members, const char *more, char *text,
                       size_t size)
{
    unsigned kind = awaited_kind(report);
    const struct incident_edge *wait = awaited_edge(report, kind);
    if (!report_has_open_wait(report))
        return false;
    const char *waiter = wait ? report->threads[wait->thread].name : "";
    const char *lock = wait ? report->locks[wait->lock].name : "";
    if (kind == INCIDENT_CONDITION && count_awaited(report, kind) > 1)
        snprintf(text, size, "%zu threads wait for signals of each other%s", members, more);
    else if (kind == INCIDENT_CONDITION)
        snprintf(text, size, "%s waits for %s, which no thread is left to signal%s", waiter, lock,
                 more);
    else if (kind == INCIDENT_SEMAPHORE)
        snprintf(text, size, "%s waits for %s, which no thread is left to post%s", waiter, lock,
                 more);
    else if (!report_verdict_text(report))
        return false;
    else if (members == 1)
        snprintf(text, size, "a thread waits for something that no thread is left to release%s",
                 more);
    else
        snprintf(text, size,
                 "%zu threads wait for something that no other thread is left to release%s",
                 members, more);
    return true;
}

static void deadlock_title(const struct report *report, char *text, size_t size)
{
    size_t members = 0, waits = 0, stuck = count_threads(report, INCIDENT_STUCK);
    for (size_t i = 0; i < report->witness_count; i++)
        waits += (report->edges[i].raw.flags & INCIDENT_WAITS) != 0;
    members = waits;
    char more[64] = "";
    size_t behind = stuck > members ? stuck - members : 0;
    behind = report->head.behind > behind ? report->head.behind : behind;
    if (behind)
        snprintf(more, sizeof more, "; %zu more %s behind", behind, behind == 1 ? "waits" : "wait");
    if (open_title(report, members, more, text, size))
        return;
    const char *never = report->head.word == INCIDENT_LIKELY ? "" : " and can never go on";
    if (members == 1)
        snprintf(text, size, "a thread waits for itself%s%s", never, more);
    else
        snprintf(text, size, "%zu threads wait for each other%s%s", members, never, more);
}

void report_title(const struct report *report, char *text, size_t size)
{
    const struct report_thread *first =
        report->head.first != INCIDENT_NONE ? &report->threads[report->head.first] : NULL;
    const struct report_edge *wait =
        first && first->raw.wait != INCIDENT_NONE ? &report->edges[first->raw.wait] : NULL;
    const char *waiter = first ? first->name : "a thread";
    const char *lock = wait ? report->locks[wait->raw.lock].name : "a lock";
    switch (report->head.kind) {
    case INCIDENT_DEADLOCK:
        deadlock_title(report, text, size);
        break;
    case INCIDENT_OWNER_GONE:
        snprintf(text, size, "%s waits for %s, whose owner has ended without releasing it", waiter,
                 lock);
        break;
    case INCIDENT_POTENTIAL:
        if (report->order_count == 2)
            snprintf(text, size, "two locks are taken in both orders");
        else
            snprintf(text, size, "%zu locks are taken in orders that form a cycle",
                     report->order_count);
        break;
    case INCIDENT_STALL:
        snprintf(text, size, "%s has waited %.1f s for %s", waiter,
                 first ? (double)first->raw.waited_ns / 1e9 : 0.0, lock);
        break;
    case INCIDENT_STATUS:
        snprintf(text, size, "%zu of %zu threads wait", count_threads(report, INCIDENT_WAITING),
                 report->thread_count);
        break;
    default:
        snprintf(text, size, "%zu kinds of incidents recurred", report->fold_count);
    }
}

const struct lock_words *lock_words(const struct incident_lock *lock)
{
    static const struct lock_words words[INCIDENT_LOCK_KINDS] = {
        [INCIDENT_MUTEX] = {"mutex", "mutex"},
        [INCIDENT_RWLOCK] = {"rwlock", "rwlock"},
        [INCIDENT_SPIN] = {"spin lock", "spinlock"},
        [INCIDENT_SEMAPHORE] = {"semaphore", "semaphore"},
        [INCIDENT_CONDITION] = {"condition variable", "condition", "could be signalled by"},
        [INCIDENT_BARRIER] = {"barrier", "barrier", "not reached by"},
        [INCIDENT_THREAD_END] = {"thread", "lock", "is up to"},
        [INCIDENT_FUTEX] = {"futex", "futex", "could be woken by"},
        [INCIDENT_ONCE] = {"pthread_once", "once", "being initialised by"},
        [INCIDENT_GUARD] = {"guard of a static variable", "guard", "being initialised by"},
        [INCIDENT_STREAM] = {"stdio stream", "stream"},
        [INCIDENT_INTERNAL] = {"lock of the C library", "lock"},
        [INCIDENT_RUST] = {"Rust lock", "rust-lock"},
        [INCIDENT_GIL] = {"interpreter lock of Python", "gil"},
        [INCIDENT_PYTHON] = {"Python lock", "python-lock"},
        [INCIDENT_FILE_LOCK] = {"file lock", "file-lock"},
        [INCIDENT_PIPE] = {"pipe", "pipe", "other end at"},
        [INCIDENT_SOCKET] = {"socket", "socket", "other end at"},
        [INCIDENT_CHILD] = {"process", "process", "is up to"},
        [INCIDENT_MESSAGE] = {"MPI message", "message", "is up to"},
        [INCIDENT_COLLECTIVE] = {"MPI collective", "collective", "not reached by"},
    };
    static const struct lock_words unknown = {"lock", "lock", NULL};
    bool known = lock->kind < INCIDENT_LOCK_KINDS && words[lock->kind].kind;
    return known ? &words[lock->kind] : &unknown;
}

const char *lock_kind(const struct incident_lock *lock, char *text, size_t size)
{
    static const struct {
        unsigned flag;
        const char *word;
    } words[] = {
        {INCIDENT_RECURSIVE, "recursive "},
        {INCIDENT_ERRORCHECK, "error-checking "},
        {INCIDENT_ROBUST, "robust "},
        {INCIDENT_INHERIT, "priority-inheriting "},
        {INCIDENT_PROTECT, "priority-ceiling "},
        {INCIDENT_SHARED, "process-shared "},
        {INCIDENT_PREFERS_WRITERS, "writer-preferring "},
        {INCIDENT_C11, "C11 "},
    };
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (lock->flags & words[i].flag && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s", words[i].word);
    if (used < size)
        snprintf(text + used, size - used, "%s", lock_words(lock)->kind);
    return text;
}

/* Is a thread only queued for it, without holding it? */
static bool is_held_by_queue(const struct report *report, uint32_t lock)
{
    for (size_t i = 0; i < report->edge_count; i++) {
        const struct incident_edge *edge = &report->edges[i].raw;
        if (edge->lock == lock && edge->mode == INCIDENT_QUEUED && (edge->flags & INCIDENT_WITNESS))
            return true;
    }
    return false;
}

/* Is no holder known, only threads that could release it? */
static bool has_no_known_holder(const struct report *report, uint32_t lock)
{
    bool could = false;
    for (size_t i = 0; i < report->edge_count; i++) {
        const struct incident_edge *edge = &report->edges[i].raw;
        if (edge->lock != lock || (edge->flags & INCIDENT_WAITS))
            continue;
        if (!(edge->flags & INCIDENT_COULD))
            return false;
        could = true;
    }
    return could;
}

const char *holder_relation(const struct report *report, uint32_t lock)
{
    const char *holding = lock_words(&report->locks[lock].raw)->holding;
    unsigned kind = report->locks[lock].raw.kind;
    if (holding)
        return holding;
    if (kind == INCIDENT_RWLOCK)
        return is_held_by_queue(report, lock) ? "held or queued for by" : "held by";
    if (has_no_known_holder(report, lock))
        return kind == INCIDENT_SEMAPHORE ? "could be posted by" : "could be freed by";
    return "held by";
}
