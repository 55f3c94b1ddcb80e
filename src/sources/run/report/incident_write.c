/* Writes an incident: sections, then the header. Stacks are written directly from where they are.
 * If a stack has been unmapped, the kernel skips it without a fault. */
#include "sources/run/report/incident_builder.h"

#include "sources/run/report/mailbox.h"
#include "sources/run/state/proc_files.h"
#include "sources/run/state/system_call.h"

#include <errno.h>
#include <string.h>

#define BLOCK 65536u

/* The destination: a file, or memory. */
struct sink {
    int fd;
    uint64_t at;
    bool failed;
    char *memory; /* NULL: the file */
    size_t room;
};

static void append_bytes(struct sink *sink, const void *bytes, size_t size)
{
    const char *from = bytes;
    if (sink->memory) {
        sink->failed = sink->failed || sink->at > sink->room || size > sink->room - sink->at;
        if (!sink->failed)
            memcpy(sink->memory + sink->at, bytes, size);
        sink->at += sink->failed ? 0 : size;
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

static void append_maps(struct incident_builder *builder, struct sink *sink)
{
    char *block = arena_take(builder->arena, BLOCK);
    int fd = block ? sys_open("/proc/self/maps", O_RDONLY) : -1;
    uint64_t before = sink->at = (sink->at + 7) & ~(uint64_t)7;
    if (watch.sandboxed) {
        size_t size;
        const char *maps = maps_kept(&size);
        append_bytes(sink, maps, size);
    } else if (fd >= 0) {
        long length;
        while ((length = sys_read(fd, block, BLOCK)) > 0)
            append_bytes(sink, block, (size_t)length);
        sys_close(fd);
    }
    builder->header.sections[INCIDENT_MAPS] =
        (struct incident_section){before, sink->at - before, 1, 0};
}

static void append_stacks(struct incident_builder *builder, struct sink *sink)
{
    uint64_t before = sink->at = (sink->at + 7) & ~(uint64_t)7;
    for (size_t i = 0; i < builder->thread_count; i++) {
        struct incident_thread *thread = &builder->threads[i];
        if (thread->stack_size == 0)
            continue;
        if (sink->memory) { /* a fault here would hit the program */
            thread->stack_size = 0;
            continue;
        }
        long written = sys_call(SYS_pwrite64, sink->fd, (const void *)thread->stack_address,
                                (size_t)thread->stack_size, sink->at);
        thread->stack_size = written > 0 ? (uint64_t)written : 0;
        thread->stack_offset = sink->at - before;
        sink->at += thread->stack_size;
    }
    builder->header.sections[INCIDENT_STACKS] =
        (struct incident_section){before, sink->at - before, 1, 0};
}

static bool write_all_sections(struct incident_builder *builder, struct sink sink)
{
    struct incident *header = &builder->header;
    append_maps(builder, &sink);
    append_stacks(builder, &sink);
    const struct {
        enum incident_section_id id;
        const void *elements;
        size_t count, size;
    } sections[] = {
        {INCIDENT_THREADS, builder->threads, builder->thread_count, sizeof *builder->threads},
        {INCIDENT_LOCKS, builder->locks, builder->lock_count, sizeof *builder->locks},
        {INCIDENT_EDGES, builder->edges, builder->edge_count, sizeof *builder->edges},
        {INCIDENT_ORDERS, builder->orders, builder->order_count, sizeof *builder->orders},
        {INCIDENT_FOLDS, builder->folds, builder->fold_count, sizeof *builder->folds},
        {INCIDENT_WORDS, builder->words, builder->word_count, sizeof *builder->words},
        {INCIDENT_STRINGS, builder->strings, builder->string_bytes, 1},
    };
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        sink.at = (sink.at + 7) & ~(uint64_t)7;
        header->sections[sections[i].id] =
            (struct incident_section){sink.at, sections[i].count, (uint32_t)sections[i].size, 0};
        append_bytes(&sink, sections[i].elements, sections[i].count * sections[i].size);
    }
    uint64_t total = sink.at;
    sink.at = 0;
    header->total_size = 0;
    append_bytes(&sink, header, sizeof *header);
    /* The reader waits for this field to know that the file is complete. */
    header->total_size = total;
    sink.at = offsetof(struct incident, total_size);
    append_bytes(&sink, &header->total_size, sizeof header->total_size);
    return !sink.failed;
}

bool builder_write_to(struct incident_builder *builder, int fd)
{
    return write_all_sections(builder,
                              (struct sink){fd, sizeof builder->header, builder->failed, NULL, 0});
}

static int write_in_mailbox(struct incident_builder *builder)
{
    size_t room;
    char *memory = mailbox_claim(&room);
    if (!memory)
        return -1;
    if (write_all_sections(builder, (struct sink){-1, sizeof builder->header, false, memory, room}))
        return NOTICE_IN_MAILBOX;
    mailbox_drop();
    return -1;
}

int builder_write(struct incident_builder *builder)
{
    if (builder->failed)
        return -1;
    if (watch.sandboxed)
        return write_in_mailbox(builder);
    /* A memory file, or an unnamed file. */
    int fd = (int)sys_call(SYS_memfd_create, "gordian-incident", 1u /* close on exec */);
    if (fd < 0)
        fd = sys_open("/tmp", O_RDWR | O_TMPFILE);
    if (fd < 0)
        return -1;
    if (!builder_write_to(builder, fd)) {
        sys_close(fd);
        return -1;
    }
    return fd;
}
