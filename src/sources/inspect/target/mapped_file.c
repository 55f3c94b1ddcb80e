#include "sources/inspect/target/mapped_file.h"

#include "output/report/symbol/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADERS_MOST 64

/* Bytes of a file, by offset, or of memory, by address. */
struct bytes {
    int fd; /* -1: memory */
    struct target *target;
    uint64_t base;
};

static bool get_bytes(const struct bytes *from, uint64_t at, void *to, size_t size)
{
    if (from->fd < 0)
        return target_read_all(from->target, from->base + at, to, size);
    return pread(from->fd, to, size, (off_t)at) == (ssize_t)size;
}

/* ------------------------------------------------------------------ build-ids */

static void search_notes(const unsigned char *notes, size_t size, struct image_id *id)
{
    for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= size;) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof note);
        size_t name = at + sizeof note, body = name + ((note.n_namesz + 3u) & ~3u);
        if (note.n_namesz > size || note.n_descsz > size || body + note.n_descsz > size)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes + name, "GNU", 4) == 0 && note.n_descsz <= IMAGE_ID_MOST) {
            memcpy(id->bytes, notes + body, note.n_descsz);
            id->count = note.n_descsz;
            return;
        }
        at = body + ((note.n_descsz + 3u) & ~3u);
    }
}

static bool find_id(const struct bytes *from, struct image_id *id, uint32_t *machine)
{
    Elf64_Ehdr header;
    Elf64_Phdr parts[HEADERS_MOST];
    *id = (struct image_id){.count = 0};
    if (!get_bytes(from, 0, &header, sizeof header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_phentsize != sizeof(Elf64_Phdr) ||
        header.e_phnum > HEADERS_MOST ||
        !get_bytes(from, header.e_phoff, parts, header.e_phnum * sizeof *parts))
        return false;
    *machine = header.e_machine;
    uint64_t first = 0; /* the address of the first byte of the file */
    for (unsigned i = 0; i < header.e_phnum; i++)
        if (parts[i].p_type == PT_LOAD && parts[i].p_offset == 0)
            first = parts[i].p_vaddr;
    for (unsigned i = 0; i < header.e_phnum && !id->count; i++) {
        unsigned char notes[4096];
        uint64_t at = from->fd < 0 ? parts[i].p_vaddr - first : parts[i].p_offset;
        if (parts[i].p_type == PT_NOTE && parts[i].p_filesz <= sizeof notes &&
            get_bytes(from, at, notes, parts[i].p_filesz))
            search_notes(notes, parts[i].p_filesz, id);
    }
    return true;
}

bool image_file_id(const char *path, struct image_id *id, uint32_t *machine)
{
    struct bytes bytes = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    bool found = bytes.fd >= 0 && find_id(&bytes, id, machine);
    if (bytes.fd >= 0)
        close(bytes.fd);
    return found;
}

bool image_memory_id(struct target *target, uint64_t base, struct image_id *id)
{
    const struct bytes bytes = {.fd = -1, .target = target, .base = base};
    uint32_t machine;
    return find_id(&bytes, id, &machine);
}

bool image_same_id(const struct image_id *a, const struct image_id *b)
{
    return a->count == b->count && memcmp(a->bytes, b->bytes, a->count) == 0;
}

/* ------------------------------------------------------------------ symbols */

int image_open(const struct target *target, const struct target_mapping *mapping)
{
    char path[PATH_MAX];
    struct stat about;
    if (target->exe && strcmp(mapping->path, target->exe_path) == 0)
        return open(target->exe, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    snprintf(path, sizeof path, "%s%s", target->root, mapping->path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool same = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
                (!mapping->inode || about.st_ino == mapping->inode);
    if (same)
        return fd;
    if (fd >= 0)
        close(fd);
    if (!*target->mapped)
        return -1;
    snprintf(path, sizeof path, "%s/%" PRIx64 "-%" PRIx64, target->mapped, mapping->low,
             mapping->high);
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

bool path_ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), wanted = strlen(end);
    return length >= wanted && strcmp(path + length - wanted, end) == 0;
}

struct search {
    const char *wanted;
    Elf64_Sym found;
    bool done;
};

static bool take_symbol(void *context, const char *name, const Elf64_Sym *symbol)
{
    struct search *search = context;
    search->done = strcmp(name, search->wanted) == 0;
    if (search->done)
        search->found = *symbol;
    return !search->done;
}

bool image_symbol(struct target *target, const char *file, const char *symbol, uint64_t *address,
                  uint64_t *size)
{
    for (size_t i = 0; i < target->mapping_count; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        struct search search = {.wanted = symbol};
        uint64_t first = 0;
        if (mapping->path[0] != '/' || mapping->offset != 0 ||
            (file && !path_ends_with(mapping->path, file)) ||
            (i > 0 && strcmp(mapping->path, target->mappings[i - 1].path) == 0))
            continue;
        int fd = image_open(target, mapping);
        if (fd >= 0) {
            elf_symbols(fd, take_symbol, &search, &first);
            close(fd);
        }
        if (!search.done)
            continue;
        *address = mapping->low + (search.found.st_value - first);
        *size = search.found.st_size;
        return true;
    }
    return false;
}
