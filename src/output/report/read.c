/* Reads the sections of an incident and checks them. After that all indices are valid. */
#include "output/report/report.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ the file */

static gordian_status read_all(struct report *report, int fd, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    char *data = NULL;
    size_t used = 0, room = 0;
    for (;;) {
        if (used == room && !memory_grow(&memory, &data, &room, used + (256u << 10), 1)) {
            memory_free(&memory, data);
            return fail_memory(error);
        }
        ssize_t count = read(fd, data + used, room - used);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            memory_free(&memory, data);
            return fail(error, GORDIAN_STATUS_IO, "cannot read the incident: %s", strerror(errno));
        }
        if (count == 0)
            break;
        used += (size_t)count;
    }
    report->data = data;
    report->size = used;
    return GORDIAN_OK;
}

static gordian_status read_head(struct report *report, gordian_error *error)
{
    struct incident *head = &report->head;
    size_t least = sizeof head->magic + sizeof head->version + sizeof head->header_size;
    if (report->size < least || memcmp(report->data, INCIDENT_MAGIC, sizeof head->magic) != 0)
        return fail(error, GORDIAN_STATUS_INPUT, "not an incident of a watched program");
    memcpy(head, report->data, report->size < sizeof *head ? report->size : sizeof *head);
    if (head->version != INCIDENT_VERSION)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "the watcher wrote incident version %u, but this program reads version %u: use "
                    "the same release of both",
                    head->version, INCIDENT_VERSION);
    if (head->header_size < sizeof *head || head->total_size != report->size)
        return fail(error, GORDIAN_STATUS_INPUT, "the incident is truncated");
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ sections */

/* Finds the start of a section. `count`: the elements that are within the file. */
static const char *find_section(const struct report *report, unsigned id, size_t *count,
                                size_t *step)
{
    const struct incident_section *given = &report->head.sections[id];
    *count = 0;
    *step = given->size;
    if (given->size == 0 || given->offset % 8 != 0 || given->offset > report->size)
        return NULL;
    uint64_t most = (report->size - given->offset) / given->size;
    *count = (size_t)(given->count < most ? given->count : most);
    return report->data + given->offset;
}

/* Copies the elements of a section to an array of elements of `size` bytes, each with the raw
 * element at its start. Fields that an older writer does not write are zero. */
static void *copy_section(struct report *report, unsigned id, size_t raw_size, size_t size,
                          size_t *count)
{
    size_t found, step;
    const char *from = find_section(report, id, &found, &step);
    *count = 0;
    char *to = found ? report_alloc(report, found * size) : NULL;
    if (!to)
        return NULL;
    for (size_t i = 0; i < found; i++)
        memcpy(to + i * size, from + i * step, step < raw_size ? step : raw_size);
    *count = found;
    return to;
}

const char *report_string(const struct report *report, uint32_t offset)
{
    size_t count, step;
    const char *strings = find_section(report, INCIDENT_STRINGS, &count, &step);
    if (!strings || step != 1 || offset >= count || !memchr(strings + offset, 0, count - offset))
        return "";
    return strings + offset;
}

const uint64_t *report_words(const struct report *report, uint32_t first, uint32_t *count)
{
    size_t found, step;
    const char *words = find_section(report, INCIDENT_WORDS, &found, &step);
    if (!words || step != sizeof(uint64_t) || first >= found)
        *count = 0;
    else if (*count > found - first)
        *count = (uint32_t)(found - first);
    /* Sections are at multiples of 8 in memory that is aligned for any type. */
    return *count ? (const uint64_t *)(const void *)words + first : NULL;
}

/* ------------------------------------------------------------------ checking */

static void check_threads(struct report *report)
{
    size_t stacks, step;
    const char *copies = find_section(report, INCIDENT_STACKS, &stacks, &step);
    for (size_t i = 0; i < report->thread_count; i++) {
        struct report_thread *thread = &report->threads[i];
        thread->comm = report_string(report, thread->raw.name);
        thread->doing = report_string(report, thread->raw.doing);
        if (thread->raw.process >= report->process_count)
            thread->raw.process = 0;
        bool inside = copies && thread->raw.stack_offset <= stacks &&
                      thread->raw.stack_size <= stacks - thread->raw.stack_offset;
        if (!inside)
            thread->raw.stack_size = 0;
        if (thread->raw.wait >= report->edge_count)
            thread->raw.wait = INCIDENT_NONE;
    }
}

static void check_locks(struct report *report)
{
    for (size_t i = 0; i < report->lock_count; i++) {
        struct report_lock *lock = &report->locks[i];
        lock->name = report_string(report, lock->raw.name);
        if (lock->raw.process >= report->process_count)
            lock->raw.process = 0;
        if (lock->raw.target >= report->thread_count)
            lock->raw.target = INCIDENT_NONE;
    }
}

static void check_edges(struct report *report)
{
    size_t kept = 0, witness = 0;
    /* Other elements refer to edges by index, so an invalid edge invalidates all edges after it. */
    for (size_t i = 0; i < report->edge_count; i++) {
        struct incident_edge *edge = &report->edges[i].raw;
        if (edge->thread >= report->thread_count || edge->lock >= report->lock_count)
            break;
        if (edge->outer >= report->lock_count)
            edge->outer = INCIDENT_NONE;
        report->edges[i].evidence = report_string(report, edge->evidence);
        if ((edge->flags & INCIDENT_WITNESS) && witness == i)
            witness++;
        kept++;
    }
    report->edge_count = kept;
    report->witness_count = witness;
}

static void check_orders(struct report *report)
{
    size_t kept = 0;
    for (size_t i = 0; i < report->order_count; i++) {
        const struct incident_order *order = &report->orders[i].raw;
        if (order->thread < report->thread_count && order->held < report->lock_count &&
            order->taken < report->lock_count)
            report->orders[kept++] = report->orders[i];
    }
    report->order_count = kept;
}

/* Do the witness edges alternate between waits and holds, each starting where the last one
 * ended? */
static bool is_cycle(const struct report *report)
{
    size_t count = report->witness_count;
    if (count == 0 || count % 2 != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct incident_edge *edge = &report->edges[i].raw;
        const struct incident_edge *next = &report->edges[(i + 1) % count].raw;
        bool waits = edge->flags & INCIDENT_WAITS;
        if (waits != (i % 2 == 0) ||
            (waits ? edge->lock != next->lock : edge->thread != next->thread))
            return false;
    }
    return true;
}

/* Reads the processes; if none is listed, uses the one of the header. */
static void read_processes(struct report *report)
{
    report->processes = copy_section(report, INCIDENT_PROCESSES, sizeof(struct incident_process),
                                     sizeof(struct report_process), &report->process_count);
    if (report->process_count == 0)
        report->processes = report_alloc(report, sizeof *report->processes);
    if (report->process_count == 0 && report->processes) {
        *report->processes = (struct report_process){
            .raw = {.pid = report->head.pid,
                    .program = report->head.program,
                    .machine = report->head.machine,
                    .maps_size = report->head.sections[INCIDENT_MAPS].count},
        };
        report->process_count = 1;
    }
    for (size_t i = 0; i < report->process_count; i++)
        report->processes[i].program = report_string(report, report->processes[i].raw.program);
}

gordian_status report_read(struct report *report, int fd, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    arena_init(&report->arena, &memory);
    gordian_status status = read_all(report, fd, error);
    THEN(status, read_head(report, error));
    if (status != GORDIAN_OK)
        return status;
    report->program = report_string(report, report->head.program);
    report->engine = report_string(report, report->head.engine);
    report->note = report_string(report, report->head.note);
    report->threads = copy_section(report, INCIDENT_THREADS, sizeof(struct incident_thread),
                                   sizeof(struct report_thread), &report->thread_count);
    report->locks = copy_section(report, INCIDENT_LOCKS, sizeof(struct incident_lock),
                                 sizeof(struct report_lock), &report->lock_count);
    report->edges = copy_section(report, INCIDENT_EDGES, sizeof(struct incident_edge),
                                 sizeof(struct report_edge), &report->edge_count);
    report->orders = copy_section(report, INCIDENT_ORDERS, sizeof(struct incident_order),
                                  sizeof(struct report_order), &report->order_count);
    report->folds = copy_section(report, INCIDENT_FOLDS, sizeof(struct incident_fold),
                                 sizeof(struct incident_fold), &report->fold_count);
    report->text_frames =
        copy_section(report, INCIDENT_TEXT_FRAMES, sizeof(struct incident_text_frame),
                     sizeof(struct incident_text_frame), &report->text_frame_count);
    read_processes(report);
    if (report->out_of_memory)
        return fail_memory(error);
    check_edges(report);
    check_threads(report);
    check_locks(report);
    check_orders(report);
    if (report->head.first >= report->thread_count)
        report->head.first = INCIDENT_NONE;
    report->cycle = report->head.cycle && is_cycle(report);
    return GORDIAN_OK;
}
