/* The report of last resort: waits and holds with thread IDs and addresses, and module and offset
 * of each place. All data is read from the incident, so it is what the reporter would have
 * received. */
#include "sources/run/report/plain_report.h"

#include "sources/run/report/mailbox.h"
#include "sources/run/state/arena.h"
#include "sources/run/state/proc_files.h"
#include "sources/run/state/system_call.h"
#include "sources/run/state/text.h"

#include <string.h>

struct plain {
    const char *base;
    uint64_t size;
    const struct incident *header;
    struct text line;
    char buffer[512];
};

static const char *const kinds[] = {
    [INCIDENT_DEADLOCK] = "deadlock",
    [INCIDENT_OWNER_GONE] = "the owner of a lock has ended",
    [INCIDENT_POTENTIAL] = "potential deadlock: lock orders contradict each other",
    [INCIDENT_STALL] = "a wait takes a long time",
    [INCIDENT_STATUS] = "status",
    [INCIDENT_SUMMARY] = "summary",
};

static const char *const lock_kinds[] = {
    [INCIDENT_MUTEX] = "mutex",
    [INCIDENT_RWLOCK] = "rwlock",
    [INCIDENT_SPIN] = "spin lock",
    [INCIDENT_SEMAPHORE] = "semaphore",
    [INCIDENT_CONDITION] = "condition",
    [INCIDENT_BARRIER] = "barrier",
    [INCIDENT_THREAD_END] = "end of thread",
};

static const void *plain_element(const struct plain *plain, int section, uint64_t index)
{
    const struct incident_section *of = &plain->header->sections[section];
    return index < of->count ? plain->base + of->offset + index * of->size : NULL;
}

static void flush_lines(struct plain *plain)
{
    text_add(&plain->line, "\n");
    sys_write(2, plain->buffer, plain->line.used);
    text_open(&plain->line, plain->buffer, sizeof plain->buffer);
    text_add(&plain->line, "gordian: ");
}

static void print_thread_name(struct plain *plain, uint32_t index)
{
    const struct incident_thread *thread = plain_element(plain, INCIDENT_THREADS, index);
    const char *name = thread ? plain_element(plain, INCIDENT_STRINGS, thread->name) : NULL;
    text_add(&plain->line, "thread ");
    text_decimal(&plain->line, thread ? thread->tid : 0);
    if (name && *name)
        text_add_all(&plain->line, " (", name, ")");
}

static void print_lock_name(struct plain *plain, uint32_t index)
{
    const struct incident_lock *lock = plain_element(plain, INCIDENT_LOCKS, index);
    if (!lock)
        return;
    text_add_all(&plain->line, lock_kinds[lock->kind], " ");
    if (lock->kind == INCIDENT_THREAD_END) {
        print_thread_name(plain, lock->target);
        return;
    }
    text_hex(&plain->line, lock->address);
    const char *name = plain_element(plain, INCIDENT_STRINGS, lock->name);
    if (name && *name)
        text_add_all(&plain->line, " \"", name, "\"");
}

/* Prints " at module+offset" for the first frame of a list. */
static void print_place(struct plain *plain, uint32_t frames, uint32_t count)
{
    const uint64_t *frame = count ? plain_element(plain, INCIDENT_WORDS, frames) : NULL;
    struct region region;
    if (!frame)
        return;
    text_add(&plain->line, " at ");
    if (maps_find((uintptr_t)*frame, &region) && region.path[0]) {
        const char *slash = strrchr(region.path, '/');
        text_add_all(&plain->line, slash ? slash + 1 : region.path, "+");
        text_hex(&plain->line, *frame - region.low + region.offset);
    } else {
        text_hex(&plain->line, *frame);
    }
}

static void print_edges(struct plain *plain)
{
    const struct incident_edge *edge;
    for (uint64_t i = 0; (edge = plain_element(plain, INCIDENT_EDGES, i)); i++) {
        bool all = plain->header->kind >= INCIDENT_STALL;
        if (!all && !(edge->flags & INCIDENT_WITNESS))
            continue;
        text_add(&plain->line, "  ");
        print_thread_name(plain, edge->thread);
        text_add(&plain->line, edge->flags & INCIDENT_COULD   ? " could have ended the wait for "
                               : edge->flags & INCIDENT_WAITS ? " waits for "
                                                              : " holds ");
        print_lock_name(plain, edge->lock);
        print_place(plain, edge->frames, edge->count);
        flush_lines(plain);
    }
}

static void print_orders(struct plain *plain)
{
    const struct incident_order *order;
    for (uint64_t i = 0; (order = plain_element(plain, INCIDENT_ORDERS, i)); i++) {
        text_add(&plain->line, "  ");
        print_thread_name(plain, order->thread);
        text_add(&plain->line, " took ");
        print_lock_name(plain, order->taken);
        print_place(plain, order->taken_frames, order->taken_count);
        text_add(&plain->line, " while it held ");
        print_lock_name(plain, order->held);
        print_place(plain, order->held_frames, order->held_count);
        flush_lines(plain);
    }
}

static void print_folds(struct plain *plain)
{
    const struct incident_fold *fold;
    for (uint64_t i = 0; (fold = plain_element(plain, INCIDENT_FOLDS, i)); i++) {
        text_add(&plain->line, "  incident ");
        text_decimal(&plain->line, fold->number);
        text_add(&plain->line, " was seen ");
        text_decimal(&plain->line, fold->count);
        text_add(&plain->line, fold->count == 1 ? " time" : " times");
        flush_lines(plain);
    }
}

static void print_incident(struct plain *plain, const char *base, uint64_t size)
{
    const struct incident *header = (const struct incident *)base;
    *plain = (struct plain){.base = base, .size = size, .header = header};
    text_open(&plain->line, plain->buffer, sizeof plain->buffer);
    text_add_all(&plain->line, "gordian: ", kinds[header->kind],
                 header->word == INCIDENT_LIKELY ? ", likely, in process " : " in process ");
    text_decimal(&plain->line, header->pid);
    flush_lines(plain);
    print_edges(plain);
    print_orders(plain);
    print_folds(plain);
    const char *note = plain_element(plain, INCIDENT_STRINGS, header->note);
    if (note && *note) {
        text_add(&plain->line, note);
        flush_lines(plain);
    }
}

void plain_report_mailbox(void)
{
    static struct plain plain; /* there is only one mailbox */
    size_t size;
    const char *incident = mailbox_incident(&size);
    if (size)
        print_incident(&plain, incident, size);
}

void plain_report(int fd)
{
    struct incident header;
    struct arena arena;
    if (fd < 0 || sys_call(SYS_pread64, fd, &header, sizeof header, 0) != (long)sizeof header ||
        !arena_open(&arena)) {
        static const char bare[] =
            "gordian: cannot report a finding: no file descriptor is left, or "
            "no memory\n";
        sys_write(2, bare, sizeof bare - 1);
        return;
    }
    char *base = arena_take(&arena, header.total_size);
    struct plain *plain = arena_take(&arena, sizeof *plain);
    uint64_t read = 0;
    while (base && plain && read < header.total_size) {
        long more = sys_call(SYS_pread64, fd, base + read, header.total_size - read, read);
        if (more <= 0)
            break;
        read += (uint64_t)more;
    }
    if (base && plain && read == header.total_size)
        print_incident(plain, base, read);
    arena_close(&arena);
}
