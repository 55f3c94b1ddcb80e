/* Writing an incident: sections, then the header. Stacks go from where they are straight into the
 * file; a stack that is gone meanwhile is left out by the kernel, not by a fault. */
#include "sources/run/report/incident_builder.h"

#include "sources/run/report/mailbox.h"
#include "sources/run/state/proc_files.h"
#include "sources/run/state/system_call.h"

#include <errno.h>
#include <string.h>

#define BLOCK 65536u

/* A file, or memory. */
struct sink {
    int fd;
    uint64_t at;
    bool failed;
    char *memory; /* NULL: the file */
    size_t room;
};

static void put_in_memory(struct sink *sink, const void *bytes, size_t size)
{
    if (sink->at > sink->room || size > sink->room - sink->at) {
        sink->failed = true;
        return;
    }
    memcpy(sink->memory + sink->at, bytes, size);
    sink->at += size;
}

static void put_bytes(struct sink *sink, const void *bytes, size_t size)
{
    const char *from = bytes;
    if (sink->memory) {
        put_in_memory(sink, bytes, size);
        return;
    }
    while (size && !sink->failed) {
        long written = sys_call(SYS_pwrite64, sink->fd, from, size, sink->at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            sink->failed = true;
            return;
        }
        from += written;
        size -= (size_t)written;
        sink->at += (uint64_t)written;
    }
}

static void put_section(struct draft *draft, struct sink *sink, int id, const void *elements,
                        size_t count, size_t size)
{
    sink->at = (sink->at + 7) & ~(uint64_t)7;
    draft->header.sections[id] = (struct incident_section){sink->at, count, (uint32_t)size, 0};
    put_bytes(sink, elements, count * size);
}

static void put_maps(struct draft *draft, struct sink *sink)
{
    char *block = arena_take(draft->arena, BLOCK);
    int fd = block ? sys_open("/proc/self/maps", O_RDONLY) : -1;
    uint64_t before = sink->at = (sink->at + 7) & ~(uint64_t)7;
    if (watch.sandboxed) {
        size_t size;
        const char *maps = maps_kept(&size);
        put_bytes(sink, maps, size);
    } else if (fd >= 0) {
        long length;
        while ((length = sys_read(fd, block, BLOCK)) > 0)
            put_bytes(sink, block, (size_t)length);
        sys_close(fd);
    }
    draft->header.sections[INCIDENT_MAPS] =
        (struct incident_section){before, sink->at - before, 1, 0};
}

static void put_stacks(struct draft *draft, struct sink *sink)
{
    uint64_t before = sink->at = (sink->at + 7) & ~(uint64_t)7;
    for (size_t i = 0; i < draft->thread_count; i++) {
        struct incident_thread *thread = &draft->threads[i];
        if (thread->stack_size == 0)
            continue;
        if (sink->memory) { /* a fault would be one of the program's */
            thread->stack_size = 0;
            continue;
        }
        long written = sys_call(SYS_pwrite64, sink->fd, (const void *)thread->stack_address,
                                (size_t)thread->stack_size, sink->at);
        thread->stack_size = written > 0 ? (uint64_t)written : 0;
        thread->stack_offset = sink->at - before;
        sink->at += thread->stack_size;
    }
    draft->header.sections[INCIDENT_STACKS] =
        (struct incident_section){before, sink->at - before, 1, 0};
}

static bool write_to(struct draft *draft, struct sink sink)
{
    struct incident *header = &draft->header;
    put_maps(draft, &sink);
    put_stacks(draft, &sink);
    put_section(draft, &sink, INCIDENT_THREADS, draft->threads, draft->thread_count,
                sizeof *draft->threads);
    put_section(draft, &sink, INCIDENT_LOCKS, draft->locks, draft->lock_count,
                sizeof *draft->locks);
    put_section(draft, &sink, INCIDENT_EDGES, draft->edges, draft->edge_count,
                sizeof *draft->edges);
    put_section(draft, &sink, INCIDENT_ORDERS, draft->orders, draft->order_count,
                sizeof *draft->orders);
    put_section(draft, &sink, INCIDENT_FOLDS, draft->folds, draft->fold_count,
                sizeof *draft->folds);
    put_section(draft, &sink, INCIDENT_WORDS, draft->words, draft->word_count,
                sizeof *draft->words);
    put_section(draft, &sink, INCIDENT_STRINGS, draft->strings, draft->string_bytes, 1);
    uint64_t total = sink.at;
    sink.at = 0;
    header->total_size = 0;
    put_bytes(&sink, header, sizeof *header);
    /* Whoever waits for the file to be complete looks at this. */
    header->total_size = total;
    sink.at = offsetof(struct incident, total_size);
    put_bytes(&sink, &header->total_size, sizeof header->total_size);
    return !sink.failed;
}

bool draft_write_to(struct draft *draft, int fd)
{
    return write_to(draft, (struct sink){fd, sizeof draft->header, draft->failed, NULL, 0});
}

static int write_to_mailbox(struct draft *draft)
{
    size_t room;
    char *memory = mailbox_claim(&room);
    if (!memory)
        return -1;
    if (write_to(draft, (struct sink){-1, sizeof draft->header, false, memory, room}))
        return NOTICE_IN_MAILBOX;
    mailbox_drop();
    return -1;
}

int draft_write(struct draft *draft)
{
    if (draft->failed)
        return -1;
    if (watch.sandboxed)
        return write_to_mailbox(draft);
    /* Memory with a descriptor, or a file that has no name. */
    int fd = (int)sys_call(SYS_memfd_create, "gordian-incident", 1u /* close on exec */);
    if (fd < 0)
        fd = sys_open("/tmp", O_RDWR | O_TMPFILE);
    if (fd < 0)
        return -1;
    if (!draft_write_to(draft, fd)) {
        sys_close(fd);
        return -1;
    }
    return fd;
}
