#include "sources/inspect/target/target.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ opening and closing */

gordian_status target_fill(struct target *target, gordian_error *error)
{
    if (target_set_text(&target->program, "") && target_set_text(&target->root, "") &&
        target_set_text(&target->mapped, ""))
        return GORDIAN_OK;
    return fail_memory(error);
}

void target_close(struct target *target)
{
    if (!target)
        return;
    if (target->ops && target->ops->close)
        target->ops->close(target);
    if (target->close_interpreter)
        target->close_interpreter(target);
    free(target->program);
    free(target->root);
    free(target->mapped);
    free(target->note);
    free(target->exe);
    free(target->exe_path);
    for (size_t i = 0; i < target->mapping_count; i++)
        free(target->mappings[i].path);
    gordian_allocator memory = target->memory;
    memory_free_all(&memory, target->maps, target->mappings, target->threads, target);
}

bool target_set_text(char **text, const char *value)
{
    char *copy = strdup(value);
    if (!copy)
        return false;
    free(*text);
    *text = copy;
    return true;
}

/* ------------------------------------------------------------------ memory */

gordian_status target_list(struct target *target, gordian_error *error)
{
    return target->ops->list ? target->ops->list(target, error) : GORDIAN_OK;
}

size_t target_read(struct target *target, uint64_t address, void *to, size_t size)
{
    size_t count = target->ops->read(target, address, to, size);
    target->bytes_read += count;
    return count;
}

bool target_read_all(struct target *target, uint64_t address, void *to, size_t size)
{
    return target_read(target, address, to, size) == size;
}

bool target_read_u32(struct target *target, uint64_t address, uint32_t *value)
{
    return target_read_all(target, address, value, sizeof *value);
}

bool target_read_u64(struct target *target, uint64_t address, uint64_t *value)
{
    return target_read_all(target, address, value, sizeof *value);
}

/* ------------------------------------------------------------------ mappings */

static bool parse_mapping(const char *line, struct target_mapping *mapping)
{
    char rights[8] = "";
    int path = -1;
    *mapping = (struct target_mapping){0};
    int found = sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n",
                       &mapping->low, &mapping->high, rights, &mapping->offset, &mapping->major,
                       &mapping->minor, &mapping->inode, &path);
    if (found < 7 || path < 0)
        return false;
    if (mapping->major == 0 && mapping->minor == 0)
        mapping->inode = 0; /* see symbols_open */
    mapping->writable = strchr(rights, 'w');
    mapping->executable = strchr(rights, 'x');
    mapping->shared = strchr(rights, 's');
    mapping->path = strdup(line + path);
    return mapping->path;
}

gordian_status target_parse_maps(struct target *target, gordian_error *error)
{
    char line[4300];
    for (size_t i = 0; i < target->mapping_count; i++)
        free(target->mappings[i].path);
    target->mapping_count = 0;
    for (size_t at = 0; at < target->maps_size;) {
        const char *from = target->maps + at;
        const char *end = memchr(from, '\n', target->maps_size - at);
        size_t length = end ? (size_t)(end - from) : target->maps_size - at;
        size_t kept = length < sizeof line ? length : sizeof line - 1;
        struct target_mapping mapping;
        memcpy(line, from, kept);
        line[kept] = '\0';
        at += length + 1;
        if (!parse_mapping(line, &mapping))
            continue;
        if (!memory_extend(&target->memory, target->mappings, target->mapping_room,
                           target->mapping_count)) {
            free(mapping.path);
            return fail_memory(error);
        }
        target->mappings[target->mapping_count++] = mapping;
    }
    return GORDIAN_OK;
}

const struct target_mapping *target_mapping(const struct target *target, uint64_t address)
{
    size_t low = 0, high = target->mapping_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (target->mappings[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    bool inside = low < target->mapping_count && target->mappings[low].low <= address;
    return inside ? &target->mappings[low] : NULL;
}

bool target_maps(const struct target *target, const char *part)
{
    for (size_t i = 0; i < target->mapping_count; i++)
        if (strstr(target->mappings[i].path, part))
            return true;
    return false;
}

/* Returns whether this file is a program or a library, judged by its first bytes in memory. */
static bool is_object(struct target *target, const char *path)
{
    char magic[4];
    for (size_t i = 0; i < target->mapping_count; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        if (mapping->offset == 0 && strcmp(mapping->path, path) == 0 &&
            target_read_all(target, mapping->low, magic, sizeof magic) &&
            memcmp(magic, "\177ELF", sizeof magic) == 0)
            return true;
    }
    return false;
}

/* A core lists the mapped files, and shared memory without a name is a file for the kernel
 * ("/dev/zero"). So if there is such a list, memory without a file is private. The data of programs
 * and libraries is also private, as loaders map it. */
bool target_is_private(struct target *target, uint64_t address)
{
    const struct target_mapping *mapping = target_mapping(target, address);
    if (!mapping || mapping->shared)
        return false;
    return !target->core || (!target->truncated && target_maps(target, "/") &&
                             (mapping->path[0] != '/' || is_object(target, mapping->path)));
}

/* ------------------------------------------------------------------ threads */

struct target_thread *target_add_thread(struct target *target)
{
    if (!memory_extend(&target->memory, target->threads, target->thread_room, target->thread_count))
        return NULL;
    struct target_thread *thread = &target->threads[target->thread_count++];
    memset(thread, 0, sizeof *thread);
    return thread;
}

static int compare_threads(const void *a, const void *b)
{
    const struct target_thread *left = a, *right = b;
    return (left->tid > right->tid) - (left->tid < right->tid);
}

void target_sort_threads(struct target *target)
{
    if (target->thread_count)
        qsort(target->threads, target->thread_count, sizeof *target->threads, compare_threads);
}

struct target_thread *target_thread(const struct target *target, uint32_t tid)
{
    const struct target_thread key = {.tid = tid};
    return target->thread_count
               ? bsearch(&key, target->threads, target->thread_count, sizeof key, compare_threads)
               : NULL;
}

bool target_same_place(const struct target_thread *before, const struct target_thread *now)
{
    return before->seen_tid == now->seen_tid && before->call == now->call &&
           memcmp(before->arguments, now->arguments, sizeof now->arguments) == 0 &&
           before->stack == now->stack && before->counter == now->counter;
}

bool target_registers(struct target *target, struct target_thread *thread, unsigned stop_ms,
                      struct stack_copy *stack)
{
    return target->ops->registers ? target->ops->registers(target, thread, stop_ms, stack)
                                  : thread->register_mask != 0;
}

bool target_ask(struct target *target, uint32_t seen_tid, unsigned stop_ms, struct ask *ask)
{
    return target->ops->ask && target->ops->ask(target, seen_tid, stop_ms, ask);
}

bool target_remap(struct target *target, bool *other)
{
    *other = false;
    return !target->ops->remap || target->ops->remap(target, other);
}

bool target_poll(struct target *target, struct target_thread *thread)
{
    return target->ops->poll && target->ops->poll(target, thread);
}

/* ------------------------------------------------------------------ registers */

/* Index of each DWARF register in the kernel's register set. */
static const unsigned char x86_places[] = {10, 12, 11, 5, 13, 14, 4, 19, 9,
                                           8,  7,  6,  3, 2,  1,  0, 16};
enum { X86_STACK = 7, X86_COUNTER = 16, ARM_STACK = 31, ARM_COUNTER = 32 };

void target_take_registers(const struct target *target, struct target_thread *thread,
                           const unsigned char *set, size_t size)
{
    bool x86 = target->machine == EM_X86_64;
    size_t count = x86 ? sizeof x86_places : TARGET_REGISTERS;
    for (size_t i = 0; i < count; i++) {
        size_t place = 8 * (size_t)(x86 ? x86_places[i] : i);
        if (place + 8 > size)
            continue;
        memcpy(&thread->registers[i], set + place, 8);
        thread->register_mask |= UINT64_C(1) << i;
    }
    thread->set_size = size < TARGET_SET ? size : TARGET_SET;
    memcpy(thread->set, set, thread->set_size);
    thread->stack = thread->registers[x86 ? X86_STACK : ARM_STACK];
    thread->counter = thread->registers[x86 ? X86_COUNTER : ARM_COUNTER];
}
