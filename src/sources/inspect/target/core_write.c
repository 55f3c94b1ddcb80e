/* Writes a core dump of a live process from outside: all memory that the process has written to,
 * and of mapped files only the first page, which contains the build ID. Pages of zeros become
 * holes. */
#define _GNU_SOURCE
#include "sources/inspect/target/target.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/io/output.h"
#include "foundation/base/memory.h"
#include "sources/inspect/target/proc.h"
#include "sources/inspect/target/system_calls.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAGE   4096u
#define BLOCK  (1u << 20)
#define STATUS 112 /* bytes of struct elf_prstatus before the registers */

#define ASLEEP_NS 5000000000u /* the longest wait for stopped threads to sleep again */

struct writer {
    struct target *target;
    struct output notes;
    Elf64_Phdr *parts;
    size_t part_count, part_room;
    int fd;
};

/* ------------------------------------------------------------------ notes */

static void put_note(struct writer *writer, uint32_t type, const void *body, size_t size)
{
    static const char padding[4];
    const Elf64_Nhdr note = {.n_namesz = 5, .n_descsz = (uint32_t)size, .n_type = type};
    output_bytes(&writer->notes, (const char *)&note, sizeof note);
    output_bytes(&writer->notes, "CORE\0\0\0", 8);
    output_bytes(&writer->notes, body, size);
    output_bytes(&writer->notes, padding, (4 - size % 4) % 4);
}

static void set_word(unsigned char *set, size_t place, uint64_t value)
{
    memcpy(set + 8 * place, &value, sizeof value);
}

/* Fills in the registers of a thread that must not be stopped, as far as its system call shows
 * them, in the form of an interrupted call. */
static void guess_registers(const struct target *target, struct target_thread *thread)
{
    static const unsigned char places[6] = {14, 13, 12, 7, 9, 8}; /* rdi rsi rdx r10 r8 r9 */
    bool x86 = target->machine == EM_X86_64, sleeps = thread->activity == TARGET_SLEEPS;
    memset(thread->set, 0, sizeof thread->set);
    thread->set_size = x86 ? 27 * 8 : 34 * 8;
    for (size_t i = 0; i < 6 && sleeps; i++)
        set_word(thread->set, x86 ? places[i] : i, thread->arguments[i]);
    if (x86) {
        set_word(thread->set, 10, (uint64_t)-512);
        set_word(thread->set, 15, sleeps ? thread->call : UINT64_MAX);
        set_word(thread->set, 16, thread->counter);
        set_word(thread->set, 19, thread->stack);
    } else {
        set_word(thread->set, 8, thread->call);
        set_word(thread->set, 31, thread->stack);
        set_word(thread->set, 32, sleeps ? thread->counter - 4 : thread->counter);
    }
}

static void put_thread(struct writer *writer, struct target_thread *thread, unsigned stop_ms)
{
    unsigned char body[STATUS + TARGET_SET + 8] = {0};
    struct sleep_call call;
    bool sleeps = sleep_call(writer->target, thread, &call);
    if ((sleeps && !call.restarts) || !target_registers(writer->target, thread, stop_ms, NULL))
        guess_registers(writer->target, thread);
    memcpy(body + 32, &thread->tid, sizeof thread->tid);
    memcpy(body + STATUS, thread->set, thread->set_size);
    put_note(writer, NT_PRSTATUS, body, STATUS + thread->set_size + 8);
}

static bool is_file(const struct target_mapping *mapping)
{
    return mapping->path[0] == '/';
}

static void put_files(struct writer *writer)
{
    const struct target *target = writer->target;
    struct output list;
    uint64_t head[2] = {0, 1};
    if (!output_open(&list, OUTPUT_MEMORY)) {
        writer->notes.failure = ENOMEM;
        return;
    }
    for (size_t i = 0; i < target->mapping_count; i++)
        head[0] += is_file(&target->mappings[i]);
    output_bytes(&list, (const char *)head, sizeof head);
    for (size_t i = 0; i < target->mapping_count; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        const uint64_t entry[3] = {mapping->low, mapping->high, mapping->offset};
        if (is_file(mapping))
            output_bytes(&list, (const char *)entry, sizeof entry);
    }
    for (size_t i = 0; i < target->mapping_count; i++)
        if (is_file(&target->mappings[i]))
            output_bytes(&list, target->mappings[i].path, strlen(target->mappings[i].path) + 1);
    put_note(writer, NT_FILE, list.buffer, list.used);
    output_close(&list);
}

/* ------------------------------------------------------------------ memory */

static bool add_part(struct writer *writer, const Elf64_Phdr *part)
{
    if (!memory_extend(&writer->target->memory, writer->parts, writer->part_room,
                       writer->part_count))
        return false;
    writer->parts[writer->part_count++] = *part;
    return true;
}

static bool plan_parts(struct writer *writer)
{
    const struct target *target = writer->target;
    bool done = add_part(writer, &(Elf64_Phdr){.p_type = PT_NOTE, .p_filesz = writer->notes.used});
    for (size_t i = 0; i < target->mapping_count && done; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        uint64_t size = mapping->high - mapping->low;
        /* Memory that the loader has written to may be read-only by now. */
        bool loaded = !mapping->executable && !mapping->shared && mapping->offset != 0;
        bool whole = mapping->writable || !is_file(mapping) || loaded;
        if (strncmp(mapping->path, "[v", 2) == 0 && strcmp(mapping->path, "[vdso]") != 0)
            continue; /* the kernel's own pages cannot be read */
        const Elf64_Phdr part = {
            .p_type = PT_LOAD,
            .p_flags = PF_R | (mapping->writable ? (unsigned)PF_W : 0) |
                       (mapping->executable ? (unsigned)PF_X : 0),
            .p_vaddr = mapping->low,
            .p_memsz = size,
            .p_filesz = whole                  ? size
                        : mapping->offset == 0 ? PAGE
                                               : 0,
            .p_align = PAGE,
        };
        done = add_part(writer, &part);
    }
    return done;
}

/* Writes one segment. Pages that cannot be read stay holes. */
static bool put_memory(struct writer *writer, const Elf64_Phdr *part, char *block)
{
    for (uint64_t at = 0; at < part->p_filesz; at += BLOCK) {
        uint64_t left = part->p_filesz - at;
        size_t size = left < BLOCK ? (size_t)left : BLOCK;
        memset(block, 0, size);
        target_read(writer->target, part->p_vaddr + at, block, size);
        for (size_t page = 0; page < size; page += PAGE) {
            size_t length = size - page < PAGE ? size - page : PAGE;
            bool zero = block[page] == 0 && memcmp(block + page, block + page + 1, length - 1) == 0;
            if (!zero && pwrite(writer->fd, block + page, length,
                                (off_t)(part->p_offset + at + page)) != (ssize_t)length)
                return false;
        }
    }
    return true;
}

static bool put_parts(struct writer *writer)
{
    char *block = memory_alloc(&writer->target->memory, BLOCK);
    uint64_t end = 0;
    bool done = block;
    if (!block)
        errno = ENOMEM;
    for (size_t i = 1; i < writer->part_count && done; i++) {
        done = put_memory(writer, &writer->parts[i], block);
        end = writer->parts[i].p_offset + writer->parts[i].p_filesz;
    }
    memory_free(&writer->target->memory, block);
    return done && ftruncate(writer->fd, (off_t)end) == 0;
}

/* ------------------------------------------------------------------ the file */

static bool put_head(struct writer *writer)
{
    Elf64_Ehdr head = {
        .e_type = ET_CORE,
        .e_machine = (uint16_t)writer->target->machine,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof head,
        .e_ehsize = sizeof head,
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_shentsize = sizeof(Elf64_Shdr),
    };
    Elf64_Shdr section = {.sh_info = (uint32_t)writer->part_count};
    bool many = writer->part_count >= PN_XNUM;
    size_t table = writer->part_count * sizeof(Elf64_Phdr);
    uint64_t at = sizeof head + table;
    memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_ident[EI_VERSION] = EV_CURRENT;
    head.e_phnum = many ? PN_XNUM : (uint16_t)writer->part_count;
    head.e_shoff = many ? at : 0;
    head.e_shnum = many;
    at += many ? sizeof section : 0;
    writer->parts[0].p_offset = at;
    at += writer->parts[0].p_filesz;
    for (size_t i = 1; i < writer->part_count; i++) {
        at = (at + PAGE - 1) / PAGE * PAGE;
        writer->parts[i].p_offset = at;
        at += writer->parts[i].p_filesz;
    }
    return write_whole(writer->fd, (const char *)&head, sizeof head) &&
           write_whole(writer->fd, (const char *)writer->parts, table) &&
           (!many || write_whole(writer->fd, (const char *)&section, sizeof section)) &&
           write_whole(writer->fd, writer->notes.buffer, writer->notes.used);
}

/* Lists the threads, and waits for those that slept before. A thread that was stopped for its stack
 * needs a while on a busy machine to return to its system call. A core that showed it running would
 * not contain the deadlock. */
static gordian_status list_asleep(struct target *target, gordian_error *error)
{
    size_t count = target->thread_count;
    struct target_thread *before = memory_alloc(&target->memory, count * sizeof *before);
    if (!before)
        return fail_memory(error);
    memcpy(before, target->threads, count * sizeof *before);
    uint64_t until = clock_ns() + ASLEEP_NS;
    gordian_status status = target_list(target, error);
    for (size_t i = 0; i < count && status == GORDIAN_OK; i++) {
        struct target_thread *now = target_thread(target, before[i].tid);
        while (before[i].activity == TARGET_SLEEPS && now && now->activity != TARGET_SLEEPS &&
               clock_ns() < until && target_poll(target, now))
            nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    memory_free(&target->memory, before);
    return status;
}

gordian_status target_write_core(struct target *target, const char *path, unsigned stop_ms,
                                 gordian_error *error)
{
    struct writer writer = {.target = target, .fd = -1};
    gordian_status status = list_asleep(target, error);
    if (status != GORDIAN_OK)
        return status;
    if (!output_open(&writer.notes, OUTPUT_MEMORY))
        return fail_memory(error);
    char auxiliary[4096 + 1];
    unsigned char body[136] = {0};
    const char *slash = strrchr(writer.target->program, '/');
    memcpy(body + 24, &writer.target->pid, sizeof writer.target->pid);
    snprintf((char *)body + 40, 16, "%s", slash ? slash + 1 : writer.target->program);
    put_note(&writer, NT_PRPSINFO, body, sizeof body);
    for (size_t i = 0; i < target->thread_count; i++)
        put_thread(&writer, &target->threads[i], stop_ms);
    ssize_t size = proc_read(auxiliary, sizeof auxiliary, "/proc/%u/auxv", target->through);
    if (size > 0)
        put_note(&writer, NT_AUXV, auxiliary, (size_t)size);
    put_files(&writer);
    if (writer.notes.failure || !plan_parts(&writer))
        status = fail_memory(error);
    if (status == GORDIAN_OK) {
        writer.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (writer.fd < 0 || !put_head(&writer) || !put_parts(&writer))
            status = fail(error, GORDIAN_STATUS_IO, "cannot write '%s': %s", path, strerror(errno));
    }
    if (writer.fd >= 0)
        close(writer.fd);
    output_close(&writer.notes);
    memory_free(&target->memory, writer.parts);
    return status;
}
