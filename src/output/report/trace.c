/* Writes an incident as a trace: holds and waits on which `gordian detect` and `check` reach the
 * same verdict.
 *
 * A trace has only resources with units. Locks are mapped to them:
 *   mutex, spin lock   one unit
 *   rwlock             a unit for each thread; a reader takes one, a writer all. A writer that
 *                      waits before the readers holds the rwlock's queue, a second resource that
 *                      readers request as well
 *   semaphore          its value plus the held units; a waiter requests one
 *   condition          a unit for each thread that could signal; a waiter requests one of them
 *   barrier            a unit for each thread that could arrive; a waiter requests the missing
 *   end of a thread    one unit, held by that thread
 *
 * A thread that ended while it held something waits for its own return: a process that never
 * releases. A resource that no thread can release is held by its waiters.
 */
#include "output/report/report.h"

#include <stdio.h>
#include <string.h>

struct writer {
    const struct report *report;
    struct output *out;
    uint32_t total;              /* units of the current lock */
    uint32_t request;            /* units that a waiter requests */
    bool odd_threads, odd_locks; /* some names contain characters that are not allowed in a trace */
};

/* ------------------------------------------------------------------ names */

static void trace_name(struct output *out, const char *name)
{
    size_t most = GORDIAN_NAME_MAX - 16; /* leaves space for a suffix */
    for (; *name && most > 0; name++, most--) {
        unsigned char c = (unsigned char)*name;
        output_char(out, c <= ' ' || c == '#' || c == '=' || c == 0x7f ? '-' : (char)c);
    }
}

/* Compares names as the trace writes them. Names that become equal get an index. */
static bool same_in_trace(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        bool odd_a = (unsigned char)*a <= ' ' || strchr("#=-\x7f", *a);
        bool odd_b = (unsigned char)*b <= ' ' || strchr("#=-\x7f", *b);
        if (odd_a != odd_b || (!odd_a && *a != *b))
            return false;
    }
    return *a == *b;
}

static bool is_odd(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name <= ' ' || strchr("#=\x7f", *name))
            return true;
    return false;
}

/* Writes a unique name. Names of the report are unique, so two can only become equal if one of them
 * is changed here. */
static void unique_word(const struct writer *writer, uint32_t index, bool locks)
{
    const struct report *report = writer->report;
    const char *own = locks ? report->locks[index].name : report->threads[index].name;
    bool odd = is_odd(own);
    trace_name(writer->out, own);
    for (uint32_t i = 0; i < index && (locks ? writer->odd_locks : writer->odd_threads); i++) {
        const char *other = locks ? report->locks[i].name : report->threads[i].name;
        if ((odd || is_odd(other)) && same_in_trace(other, own)) {
            output_format(writer->out, "~%u", index);
            return;
        }
    }
}

static void thread_word(const struct writer *writer, uint32_t thread)
{
    unique_word(writer, thread, false);
}

static void lock_word(const struct writer *writer, uint32_t lock)
{
    unique_word(writer, lock, true);
}

static void find_odd(struct writer *writer)
{
    const struct report *report = writer->report;
    for (uint32_t i = 0; i < report->thread_count && !writer->odd_threads; i++)
        writer->odd_threads = is_odd(report->threads[i].name);
    /* "end of NAME" always has blanks, but that only matters if a lock is called "end-of-NAME". */
    for (uint32_t i = 0; i < report->lock_count && !writer->odd_locks; i++)
        writer->odd_locks =
            report->locks[i].raw.kind != INCIDENT_THREAD_END &&
            (is_odd(report->locks[i].name) || strncmp(report->locks[i].name, "end-of-", 7) == 0);
}

/* ------------------------------------------------------------------ units */

static bool is_wait(const struct incident_edge *edge)
{
    return (edge->flags & INCIDENT_WAITS) && !(edge->flags & INCIDENT_TIMED);
}

static bool queue_written(const struct writer *writer, uint32_t lock)
{
    for (size_t i = 0; i < writer->report->edge_count; i++) {
        const struct incident_edge *edge = &writer->report->edges[i].raw;
        if (edge->lock == lock && edge->mode == INCIDENT_QUEUED)
            return true;
    }
    return false;
}

static uint32_t held_units(const struct writer *writer, const struct incident_edge *edge)
{
    switch (writer->report->locks[edge->lock].raw.kind) {
    case INCIDENT_RWLOCK:
        return edge->mode == INCIDENT_READ ? 1 : (uint32_t)writer->report->thread_count;
    case INCIDENT_SEMAPHORE:
        return edge->units ? edge->units : 1;
    default:
        return 1;
    }
}

/* Sets the number of units of a lock and of a waiter's request. Returns the units that the waiters
 * themselves must hold because no thread does. */
static uint32_t count_units(struct writer *writer, uint32_t index)
{
    const struct report *report = writer->report;
    const struct incident_lock *lock = &report->locks[index].raw;
    uint32_t held = 0;
    bool could = false;
    for (size_t i = 0; i < report->edge_count; i++) {
        const struct incident_edge *edge = &report->edges[i].raw;
        if (edge->lock != index || (edge->flags & INCIDENT_WAITS))
            continue;
        held += held_units(writer, edge);
        could = could || (edge->flags & INCIDENT_COULD);
    }
    writer->request = 1;
    /* The proof was that no thread is left to release it: its waiters hold it. */
    bool unnamed = held == 0 && report->head.word != INCIDENT_CERTAIN &&
                   report->head.kind == INCIDENT_DEADLOCK;
    switch (lock->kind) {
    case INCIDENT_RWLOCK:
        writer->total = (uint32_t)report->thread_count;
        return unnamed;
    case INCIDENT_SEMAPHORE:
        writer->total = held + lock->units;
        break;
    case INCIDENT_BARRIER:
        writer->request = lock->missing ? lock->missing : 1;
        writer->total = held;
        break;
    case INCIDENT_CONDITION:
    case INCIDENT_FUTEX:
        writer->total = held;
        break;
    case INCIDENT_PIPE:
    case INCIDENT_SOCKET:
    case INCIDENT_CHILD:
    case INCIDENT_FILE_LOCK:
    case INCIDENT_MESSAGE:
        could = true; /* any thread of any process at the other end can release it */
        __attribute__((fallthrough));
    default:
        /* Any thread that could release it is sufficient. */
        writer->total = could ? held : 1;
        return unnamed && lock->kind != INCIDENT_THREAD_END;
    }
    uint32_t nobody = writer->total < writer->request ? writer->request - writer->total : 0;
    writer->total += nobody;
    return nobody;
}

/* ------------------------------------------------------------------ lines */

static void hold_line(const struct writer *writer, uint32_t thread, uint32_t lock, uint32_t units,
                      const char *suffix)
{
    output_text(writer->out, "hold ");
    thread_word(writer, thread);
    output_char(writer->out, ' ');
    lock_word(writer, lock);
    output_text(writer->out, suffix);
    if (units != 1)
        output_format(writer->out, "=%u", units);
    output_char(writer->out, '\n');
}

static void write_resources(struct writer *writer)
{
    for (uint32_t i = 0; i < writer->report->lock_count; i++) {
        count_units(writer, i);
        output_text(writer->out, "resource ");
        lock_word(writer, i);
        if (writer->total != 1)
            output_format(writer->out, " %u", writer->total);
        output_char(writer->out, '\n');
        if (queue_written(writer, i)) {
            output_text(writer->out, "resource ");
            lock_word(writer, i);
            output_text(writer->out, "/queue\n");
        }
    }
}

static bool is_held(const struct report *report, uint32_t lock)
{
    for (size_t i = 0; i < report->edge_count; i++)
        if (report->edges[i].raw.lock == lock && !(report->edges[i].raw.flags & INCIDENT_WAITS))
            return true;
    return false;
}

/* A thread that is joined holds its own end, even if no edge says so. */
static void end_lines(struct writer *writer)
{
    const struct report *report = writer->report;
    for (uint32_t i = 0; i < report->lock_count; i++) {
        const struct incident_lock *lock = &report->locks[i].raw;
        if (lock->kind == INCIDENT_THREAD_END && lock->target != INCIDENT_NONE &&
            !(report->threads[lock->target].raw.flags & INCIDENT_ENDED) && !is_held(report, i))
            hold_line(writer, lock->target, i, 1, "");
    }
}

static void hold_lines(struct writer *writer)
{
    const struct report *report = writer->report;
    for (size_t i = 0; i < report->edge_count; i++) {
        const struct incident_edge *edge = &report->edges[i].raw;
        if (edge->flags & INCIDENT_WAITS)
            continue;
        if (edge->mode == INCIDENT_QUEUED)
            hold_line(writer, edge->thread, edge->lock, 1, "/queue");
        else
            hold_line(writer, edge->thread, edge->lock, held_units(writer, edge), "");
    }
    for (uint32_t lock = 0; lock < report->lock_count; lock++) {
        uint32_t nobody = count_units(writer, lock);
        for (size_t i = 0; i < report->edge_count && nobody; i++) {
            const struct incident_edge *edge = &report->edges[i].raw;
            if (edge->lock != lock || !is_wait(edge))
                continue;
            hold_line(writer, edge->thread, lock, nobody, "");
            break;
        }
    }
}

static void wait_line(struct writer *writer, const struct incident_edge *edge)
{
    const struct incident_lock *lock = &writer->report->locks[edge->lock].raw;
    count_units(writer, edge->lock);
    uint32_t units = writer->request;
    if (lock->kind == INCIDENT_RWLOCK && edge->mode != INCIDENT_READ)
        units = writer->total;
    output_text(writer->out, "wait ");
    thread_word(writer, edge->thread);
    output_char(writer->out, ' ');
    lock_word(writer, edge->lock);
    if (units != 1)
        output_format(writer->out, "=%u", units);
    if (lock->kind == INCIDENT_RWLOCK && edge->mode == INCIDENT_READ &&
        queue_written(writer, edge->lock)) {
        output_char(writer->out, ' ');
        lock_word(writer, edge->lock);
        output_text(writer->out, "/queue");
    }
    output_char(writer->out, '\n');
}

/* Writes the threads that ended without releasing a lock. */
static void write_ended(struct writer *writer)
{
    const struct report *report = writer->report;
    for (uint32_t i = 0; i < report->thread_count; i++) {
        bool gone = report->threads[i].raw.flags & (INCIDENT_ENDED | INCIDENT_FOREIGN);
        bool keeps = false;
        for (size_t k = 0; k < report->edge_count && gone && !keeps; k++)
            keeps = report->edges[k].raw.thread == i;
        if (!keeps)
            continue;
        for (int line = 0; line < 3; line++) {
            static const char *const words[] = {"resource", "hold", "wait"};
            output_format(writer->out, "%s ", words[line]);
            if (line)
                thread_word(writer, i);
            output_text(writer->out, line ? " return-of-" : "return-of-");
            thread_word(writer, i);
            output_char(writer->out, '\n');
        }
    }
}

/* Writes the wait that closed the cycle last, so that the replay finds the deadlock at the same
 * point. */
static void wait_lines(struct writer *writer)
{
    const struct report *report = writer->report;
    if (report->head.kind == INCIDENT_OWNER_GONE)
        write_ended(writer);
    for (size_t i = report->edge_count; i-- > 0;)
        if (is_wait(&report->edges[i].raw))
            wait_line(writer, &report->edges[i].raw);
}

/* Potential deadlock: each thread holds its first lock and waits for the second. */
static void order_lines(struct writer *writer)
{
    const struct report *report = writer->report;
    for (uint32_t i = 0; i < report->lock_count; i++) {
        output_text(writer->out, "resource ");
        lock_word(writer, i);
        output_char(writer->out, '\n');
    }
    for (size_t i = 0; i < report->order_count; i++)
        hold_line(writer, report->orders[i].raw.thread, report->orders[i].raw.held, 1, "");
    for (size_t i = report->order_count; i-- > 0;) {
        output_text(writer->out, "wait ");
        thread_word(writer, report->orders[i].raw.thread);
        output_char(writer->out, ' ');
        lock_word(writer, report->orders[i].raw.taken);
        output_char(writer->out, '\n');
    }
}

bool report_trace(const struct report *report, struct output *out)
{
    struct writer writer = {.report = report, .out = out};
    char title[300];
    find_odd(&writer);
    if (report->edge_count == 0 && report->order_count == 0)
        return false;
    report_title(report, title, sizeof title);
    for (char *c = title; *c; c++)
        *c = (unsigned char)*c < ' ' ? '?' : *c; /* a newline in a name would end the comment */
    output_format(out, "# gordian run: %s: %s\n", report_kind(report), title);
    if (report->order_count) {
        order_lines(&writer);
        return true;
    }
    write_resources(&writer);
    hold_lines(&writer);
    end_lines(&writer);
    wait_lines(&writer);
    return true;
}
