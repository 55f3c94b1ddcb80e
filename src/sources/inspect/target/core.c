/* Reads core dumps (core files) that the kernel or gcore wrote, on x86-64 or aarch64. It reads only
 * the notes and the pages that a decoder asks for. Pages that the core does not contain come from
 * the files that were mapped there. */
#define _GNU_SOURCE
#include "sources/inspect/target/target.h"

#include "foundation/base/error.h"
#include "foundation/base/io/output.h"
#include "foundation/base/memory.h"
#include "sources/inspect/target/mapped_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTES_MOST  (1u << 30)
#define FILES_MOST  8 /* kept open */
#define SEGMENT_MAX (1u << 22)

struct core_file { /* a file opened to read its pages */
    const struct target_mapping *mapping;
    int fd;
};

struct core {
    struct target target; /* first member: see core_read() */
    int fd;
    const char *path;
    Elf64_Phdr *segments; /* PT_LOAD, by address */
    size_t segment_count, segment_room;
    unsigned char *notes;
    size_t note_bytes;
    struct output maps;
    struct core_file files[FILES_MOST];
    size_t next_file;
    uint64_t size;
    char program[17];     /* command name, as the kernel stored it */
    uint64_t entry_table; /* AT_PHDR: an address in the program's first page */
};

/* ------------------------------------------------------------------ memory */

static int open_mapped(struct core *core, const struct target_mapping *mapping)
{
    for (size_t i = 0; i < FILES_MOST; i++)
        if (core->files[i].mapping == mapping)
            return core->files[i].fd;
    struct core_file *place = &core->files[core->next_file++ % FILES_MOST];
    if (place->mapping && place->fd >= 0)
        close(place->fd);
    *place = (struct core_file){mapping, image_open(&core->target, mapping)};
    return place->fd;
}

/* Reads from the file that was mapped there. A core leaves out only pages that were never written
 * to. */
static size_t read_mapped(struct core *core, uint64_t address, void *to, size_t size)
{
    const struct target_mapping *mapping = target_mapping(&core->target, address);
    int fd = mapping && mapping->path[0] == '/' ? open_mapped(core, mapping) : -1;
    if (fd < 0)
        return 0;
    size_t most = mapping->high - address < size ? (size_t)(mapping->high - address) : size;
    ssize_t count = pread(fd, to, most, (off_t)(address - mapping->low + mapping->offset));
    return count > 0 ? (size_t)count : 0;
}

static const Elf64_Phdr *segment_at(const struct core *core, uint64_t address)
{
    size_t low = 0, high = core->segment_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (core->segments[middle].p_vaddr + core->segments[middle].p_memsz <= address)
            low = middle + 1;
        else
            high = middle;
    }
    bool inside = low < core->segment_count && core->segments[low].p_vaddr <= address;
    return inside ? &core->segments[low] : NULL;
}

/* Reads as much as one source provides. */
static size_t read_piece(struct core *core, uint64_t address, void *to, size_t size)
{
    const Elf64_Phdr *segment = segment_at(core, address);
    uint64_t inside = segment ? address - segment->p_vaddr : 0;
    if (!segment || inside >= segment->p_filesz)
        return read_mapped(core, address, to, size);
    uint64_t left = segment->p_filesz - inside;
    ssize_t count =
        pread(core->fd, to, left < size ? (size_t)left : size, (off_t)(segment->p_offset + inside));
    if (count <= 0)
        core->target.truncated = true;
    return count > 0 ? (size_t)count : 0;
}

static size_t core_read(struct target *target, uint64_t address, void *to, size_t size)
{
    size_t done = 0;
    while (done < size) {
        size_t count =
            read_piece((struct core *)target, address + done, (char *)to + done, size - done);
        if (count == 0)
            break;
        done += count;
    }
    return done;
}

/* ------------------------------------------------------------------ threads */

enum { X86_RAX = 10, X86_ORIG_RAX = 15, ARM_SVC = 0xd4000001 };

static uint64_t word_at(const unsigned char *from, size_t at)
{
    uint64_t value;
    memcpy(&value, from + at, sizeof value);
    return value;
}

/* An interrupted system call leaves one of these codes of the kernel as its result. */
static bool was_interrupted(uint64_t result)
{
    int64_t code = (int64_t)result;
    return code == -EINTR || (code <= -512 && code >= -516);
}

/* x86-64: the kernel stores the number of the system call in a separate register. */
static void x86_call(struct target_thread *thread, const unsigned char *set)
{
    static const unsigned char places[6] = {14, 13, 12, 7, 9, 8}; /* rdi rsi rdx r10 r8 r9 */
    uint64_t number = word_at(set, 8 * X86_ORIG_RAX);
    thread->activity = TARGET_RUNS;
    if ((int64_t)number < 0 || !was_interrupted(word_at(set, 8 * X86_RAX)))
        return;
    thread->activity = TARGET_SLEEPS;
    thread->call = number;
    for (size_t i = 0; i < 6; i++)
        thread->arguments[i] = word_at(set, 8 * places[i]);
}

/* aarch64: the program counter is either at the SVC instruction, with the arguments restored for
 * the call to be repeated, or behind it with the result EINTR and the first argument lost. */
static void arm_call(struct target *target, struct target_thread *thread, const unsigned char *set)
{
    uint32_t here = 0, before = 0;
    target_read_u32(target, thread->counter, &here);
    target_read_u32(target, thread->counter - 4, &before);
    thread->activity = TARGET_RUNS;
    bool again = here == ARM_SVC;
    if (!again && !(before == ARM_SVC && was_interrupted(word_at(set, 0))))
        return;
    thread->activity = TARGET_SLEEPS;
    thread->call = word_at(set, 8 * 8);
    for (size_t i = 0; i < 6; i++)
        thread->arguments[i] = word_at(set, 8 * i);
    if (!again)
        thread->arguments[0] = 0;
}

/* Offsets in the 64-bit struct elf_prstatus. */
enum { STATUS_PID = 32, STATUS_REGISTERS = 112 };

static bool take_thread(struct core *core, const unsigned char *body, size_t size)
{
    bool x86 = core->target.machine == EM_X86_64;
    size_t set = (x86 ? 27 : 34) * 8;
    if (size < STATUS_REGISTERS + set)
        return true;
    struct target_thread *thread = target_add_thread(&core->target);
    if (!thread)
        return false;
    memcpy(&thread->tid, body + STATUS_PID, sizeof thread->tid);
    thread->seen_tid = thread->tid;
    thread->steady = true;
    target_take_registers(&core->target, thread, body + STATUS_REGISTERS, set);
    if (x86)
        x86_call(thread, body + STATUS_REGISTERS);
    return true;
}

/* ------------------------------------------------------------------ notes */

/* NT_FILE: count, page size, then low, high and page offset of each file, then the names. */
static void take_files(struct core *core, const unsigned char *body, size_t size)
{
    if (size < 16)
        return;
    uint64_t count = word_at(body, 0), page = word_at(body, 8);
    if (count > (size - 16) / 24)
        return;
    size_t name = 16 + 24 * (size_t)count;
    for (uint64_t i = 0; i < count && name < size; i++) {
        const unsigned char *entry = body + 16 + 24 * i;
        const char *path = (const char *)body + name;
        size_t length = strnlen(path, size - name);
        if (length == size - name)
            break;
        uint64_t offset = word_at(entry, 16) * page;
        output_format(&core->maps, "%llx-%llx r-xp %llx 00:00 0 %s\n",
                      (unsigned long long)word_at(entry, 0), (unsigned long long)word_at(entry, 8),
                      (unsigned long long)offset, path);
        name += length + 1;
    }
}

enum { INFO_PID = 24, INFO_NAME = 40 };

static bool take_note(struct core *core, unsigned type, const unsigned char *body, size_t size)
{
    switch (type) {
    case NT_PRSTATUS:
        return take_thread(core, body, size);
    case NT_PRPSINFO:
        if (size >= INFO_NAME + 16) {
            memcpy(&core->target.pid, body + INFO_PID, sizeof core->target.pid);
            memcpy(core->program, body + INFO_NAME, 16);
        }
        return true;
    case NT_AUXV:
        for (size_t at = 0; at + 16 <= size; at += 16)
            if (word_at(body, at) == AT_PHDR)
                core->entry_table = word_at(body, at + 8);
        return true;
    case NT_FILE:
        take_files(core, body, size);
        return true;
    default:
        return true;
    }
}

static bool take_notes(struct core *core)
{
    const unsigned char *notes = core->notes;
    size_t size = core->note_bytes;
    for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= size;) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof note);
        size_t name = at + sizeof note, body = name + (((size_t)note.n_namesz + 3) & ~(size_t)3);
        if (body > size || note.n_descsz > size - body)
            break;
        if (note.n_namesz == 5 && memcmp(notes + name, "CORE", 5) == 0 &&
            !take_note(core, note.n_type, notes + body, note.n_descsz))
            return false;
        at = body + (((size_t)note.n_descsz + 3) & ~(size_t)3);
    }
    return true;
}

/* ------------------------------------------------------------------ the file */

static gordian_status not_a_core(const struct core *core, const char *why, gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_INPUT, "'%s' %s", core->path, why);
}

static int compare_segments(const void *a, const void *b)
{
    const Elf64_Phdr *left = a, *right = b;
    return (left->p_vaddr > right->p_vaddr) - (left->p_vaddr < right->p_vaddr);
}

/* Returns the number of program headers. Cores with many mappings store it in a section header. */
static uint64_t count_headers(const struct core *core, const Elf64_Ehdr *header)
{
    Elf64_Shdr section;
    if (header->e_phnum != PN_XNUM)
        return header->e_phnum;
    bool there = header->e_shoff && pread(core->fd, &section, sizeof section,
                                          (off_t)header->e_shoff) == (ssize_t)sizeof section;
    return there ? section.sh_info : 0;
}

static gordian_status take_segment(struct core *core, const Elf64_Phdr *part, gordian_error *error)
{
    struct target *target = &core->target;
    if (part->p_type == PT_LOAD && part->p_memsz) {
        if (!memory_extend(&target->memory, core->segments, core->segment_room,
                           core->segment_count))
            return fail_memory(error);
        core->segments[core->segment_count++] = *part;
        target->truncated = target->truncated || part->p_offset + part->p_filesz > core->size;
    }
    if (part->p_type == PT_NOTE && !core->notes) {
        if (part->p_offset > core->size || part->p_filesz > core->size - part->p_offset ||
            part->p_filesz > NOTES_MOST)
            return not_a_core(core,
                              "is truncated, and the list of its threads is missing: check "
                              "whether the disk is full, or 'ulimit -c' too small",
                              error);
        core->notes = memory_alloc(&target->memory, part->p_filesz + 1);
        if (!core->notes)
            return fail_memory(error);
        ssize_t count = pread(core->fd, core->notes, part->p_filesz, (off_t)part->p_offset);
        core->note_bytes = count > 0 ? (size_t)count : 0;
        target->bytes_read += core->note_bytes;
    }
    return GORDIAN_OK;
}

static gordian_status read_header(struct core *core, Elf64_Ehdr *header, gordian_error *error)
{
    struct stat about;
    core->fd = open(core->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (core->fd < 0 || fstat(core->fd, &about) != 0)
        return fail(error, GORDIAN_STATUS_INPUT, "cannot read '%s': %s", core->path,
                    strerror(errno));
    core->size = (uint64_t)about.st_size;
    if (!S_ISREG(about.st_mode) ||
        pread(core->fd, header, sizeof *header, 0) != (ssize_t)sizeof *header ||
        memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return not_a_core(core, "is not a core file (and not a process ID)", error);
    if (header->e_ident[EI_CLASS] != ELFCLASS64)
        return not_a_core(core, "is a 32-bit file: only 64-bit cores can be inspected", error);
    if (header->e_type != ET_CORE)
        return not_a_core(core,
                          "is a program, not a core: give the core, and the program with "
                          "--exe",
                          error);
    if ((header->e_machine != EM_X86_64 && header->e_machine != EM_AARCH64) ||
        header->e_ident[EI_DATA] != ELFDATA2LSB)
        return not_a_core(core,
                          "is a core of another processor: only those of x86-64 and aarch64 can "
                          "be inspected",
                          error);
    core->target.machine = header->e_machine;
    return GORDIAN_OK;
}

static gordian_status read_segments(struct core *core, const Elf64_Ehdr *header,
                                    gordian_error *error)
{
    uint64_t count = count_headers(core, header);
    for (uint64_t i = 0; i < count && i < SEGMENT_MAX; i++) {
        Elf64_Phdr part;
        if (pread(core->fd, &part, sizeof part, (off_t)(header->e_phoff + i * sizeof part)) !=
            (ssize_t)sizeof part) {
            core->target.truncated = true;
            break;
        }
        TRY(take_segment(core, &part, error));
    }
    if (core->segment_count)
        qsort(core->segments, core->segment_count, sizeof *core->segments, compare_segments);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ which files */

static const struct target_mapping *program_mapping(const struct core *core)
{
    const struct target_mapping *found = target_mapping(&core->target, core->entry_table);
    return found && found->path[0] == '/' ? found : NULL;
}

static void hex_of(const struct image_id *id, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < id->count && 2 * i + 3 < size; i++)
        snprintf(text + 2 * i, size - 2 * i, "%02x", id->bytes[i]);
}

/* Checks that the program given with --exe wrote the core. */
static gordian_status check_program(struct core *core, const char *exe, gordian_error *error)
{
    const struct target_mapping *mapping = program_mapping(core);
    struct image_id ours, theirs;
    uint32_t machine;
    if (!image_file_id(exe, &ours, &machine))
        return fail(error, GORDIAN_STATUS_INPUT, "--exe: '%s' is not a program, or not readable",
                    exe);
    if (machine != core->target.machine)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "--exe: '%s' is a program for a different processor than that of the core",
                    exe);
    if (mapping && image_memory_id(&core->target, mapping->low, &theirs) && theirs.count &&
        !image_same_id(&ours, &theirs)) {
        char have[2 * IMAGE_ID_MOST + 1], want[2 * IMAGE_ID_MOST + 1];
        hex_of(&ours, have, sizeof have);
        hex_of(&theirs, want, sizeof want);
        return fail(error, GORDIAN_STATUS_INPUT,
                    "'%s' is not a core of '%s': its build-id is %s, the "
                    "program's is %s: give the right program with --exe",
                    core->path, exe, want, *have ? have : "missing");
    }
    return GORDIAN_OK;
}

/* A file on this disk must not be read if it is not the build that was mapped. In that case its
 * path is replaced with a path that does not exist. */
static bool drop_other_builds(struct core *core)
{
    struct target *target = &core->target;
    for (size_t i = 0; i < target->mapping_count; i++) {
        struct target_mapping *mapping = &target->mappings[i];
        char path[PATH_MAX];
        struct image_id file, memory;
        uint32_t machine;
        if (mapping->path[0] != '/' || mapping->offset != 0 ||
            (target->exe && strcmp(mapping->path, target->exe_path) == 0))
            continue;
        snprintf(path, sizeof path, "%s%s", target->root, mapping->path);
        if (!image_file_id(path, &file, &machine) ||
            !image_memory_id(target, mapping->low, &memory) || image_same_id(&file, &memory))
            continue;
        char *original = mapping->path, *renamed = NULL;
        if (asprintf(&renamed, "%s (another build)", original) < 0)
            return false;
        for (size_t k = i; k < target->mapping_count; k++)
            if (strcmp(target->mappings[k].path, original) == 0 && k != i &&
                !target_set_text(&target->mappings[k].path, renamed))
                return free(renamed), false;
        free(original);
        mapping->path = renamed;
    }
    return true;
}

static int compare_mappings(const void *a, const void *b)
{
    const struct target_mapping *left = a, *right = b;
    return (left->low > right->low) - (left->low < right->low);
}

/* Adds memory without a file (heap, stacks). Only the segments list such memory. The segments also
 * hold the access rights. */
static bool add_segments(struct core *core)
{
    struct target *target = &core->target;
    size_t files = target->mapping_count;
    for (size_t i = 0; i < core->segment_count; i++) {
        const Elf64_Phdr *segment = &core->segments[i];
        struct target_mapping fresh = {.low = segment->p_vaddr,
                                       .high = segment->p_vaddr + segment->p_memsz};
        size_t all = target->mapping_count;
        target->mapping_count = files; /* sorted by address */
        struct target_mapping *known =
            (struct target_mapping *)(uintptr_t)target_mapping(target, segment->p_vaddr);
        target->mapping_count = all;
        if (!known) {
            fresh.path = strdup("");
            if (!fresh.path ||
                !memory_extend(&target->memory, target->mappings, target->mapping_room, all))
                return free(fresh.path), false;
            known = &target->mappings[target->mapping_count++];
            *known = fresh;
        }
        known->writable = segment->p_flags & PF_W;
        known->executable = segment->p_flags & PF_X;
    }
    if (target->mapping_count)
        qsort(target->mappings, target->mapping_count, sizeof *target->mappings, compare_mappings);
    return true;
}

/* Replaces target->maps with the text. False: out of memory. */
static bool take_maps(struct target *target, const struct output *text)
{
    char *maps = text->failure ? NULL : memory_alloc(&target->memory, text->used + 1);
    if (!maps)
        return false;
    memcpy(maps, text->buffer, text->used);
    memory_free(&target->memory, target->maps);
    target->maps = maps;
    target->maps_size = text->used;
    return true;
}

/* Writes the maps again, now with segments and access rights. */
static gordian_status write_maps(struct core *core, gordian_error *error)
{
    struct target *target = &core->target;
    struct output out;
    if (!output_open(&out, OUTPUT_MEMORY))
        return fail_memory(error);
    size_t number = 0; /* of a file: index + 1 of the first of its mappings, which are adjacent */
    for (size_t i = 0; i < target->mapping_count; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        if (i == 0 || strcmp(target->mappings[i - 1].path, mapping->path) != 0)
            number = mapping->path[0] ? i + 1 : 0;
        output_format(&out, "%llx-%llx r%c%cp %llx 00:00 %zu %s\n",
                      (unsigned long long)mapping->low, (unsigned long long)mapping->high,
                      mapping->writable ? 'w' : '-', mapping->executable ? 'x' : '-',
                      (unsigned long long)mapping->offset, number, mapping->path);
    }
    bool done = take_maps(target, &out);
    output_close(&out);
    return done ? GORDIAN_OK : fail_memory(error);
}

/* ------------------------------------------------------------------ opening */

static void core_close(struct target *target)
{
    struct core *core = (struct core *)target;
    for (size_t i = 0; i < FILES_MOST; i++)
        if (core->files[i].mapping && core->files[i].fd >= 0)
            close(core->files[i].fd);
    if (core->fd >= 0)
        close(core->fd);
    if (core->maps.buffer)
        output_close(&core->maps);
    memory_free_all(&target->memory, core->segments, core->notes);
}

static const struct target_ops core_ops = {
    .read = core_read,
    .close = core_close,
};

static gordian_status name_program(struct core *core, const char *exe, gordian_error *error)
{
    const struct target_mapping *program = program_mapping(core);
    const char *name = exe ? exe : program ? program->path : core->program;
    bool done = target_set_text(&core->target.program, name);
    if (exe && program)
        done = done && target_set_text(&core->target.exe, exe) &&
               target_set_text(&core->target.exe_path, program->path);
    return done ? GORDIAN_OK : fail_memory(error);
}

/* Takes the steps that need the memory of the core. */
static gordian_status settle_core(struct core *core, const char *exe, gordian_error *error)
{
    struct target *target = &core->target;
    gordian_status status = target_parse_maps(target, error);
    THEN(status, name_program(core, exe, error));
    if (status == GORDIAN_OK && exe)
        status = check_program(core, exe, error);
    if (status != GORDIAN_OK)
        return status;
    if (!drop_other_builds(core) || !add_segments(core))
        return fail_memory(error);
    status = write_maps(core, error);
    for (size_t i = 0; i < target->thread_count && target->machine == EM_AARCH64; i++) {
        struct target_thread *thread = &target->threads[i];
        unsigned char set[TARGET_REGISTERS * 8];
        memcpy(set, thread->registers, sizeof set);
        arm_call(target, thread, set);
    }
    return status;
}

static gordian_status read_core(struct core *core, const char *exe, const char *sysroot,
                                gordian_error *error)
{
    struct target *target = &core->target;
    Elf64_Ehdr header;
    gordian_status status = read_header(core, &header, error);
    THEN(status, read_segments(core, &header, error));
    if (status != GORDIAN_OK)
        return status;
    if (!output_open(&core->maps, OUTPUT_MEMORY) || !take_notes(core) ||
        (sysroot && !target_set_text(&target->root, sysroot)))
        return fail_memory(error);
    if (target->thread_count == 0)
        return not_a_core(
            core, "contains no threads: it is truncated, or not the core of a process", error);
    target_sort_threads(target);
    if (!take_maps(target, &core->maps))
        return fail_memory(error);
    target->seen_pid = target->through = target->pid;
    return settle_core(core, exe, error);
}

gordian_status target_open_core(struct target **out, const char *path, const char *exe,
                                const char *sysroot, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct core *core = memory_zeroed(&memory, sizeof *core);
    *out = NULL;
    if (!core)
        return fail_memory(error);
    core->fd = -1;
    core->path = path;
    struct target *target = &core->target;
    target->memory = memory;
    target->ops = &core_ops;
    target->core = true;
    gordian_status status = target_fill(target, error);
    THEN(status, read_core(core, exe, sysroot, error));
    if (status != GORDIAN_OK)
        target_close(target);
    else
        *out = target;
    return status;
}
