/* Reads symbol tables of ELF files. */
#include "output/report/symbol/elf.h"

#include "foundation/base/memory.h"

#include <string.h>
#include <unistd.h>

#define TABLE_MOST     (1u << 30)
#define ELF_PARTS_MOST 64

static bool read_at(int fd, uint64_t at, void *to, size_t size)
{
    return pread(fd, to, size, (off_t)at) == (ssize_t)size;
}

/* Reads the header and the program headers. False: not a supported file. */
static bool elf_parts(int fd, Elf64_Ehdr *header, Elf64_Phdr parts[ELF_PARTS_MOST])
{
    return read_at(fd, 0, header, sizeof *header) &&
           memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
           header->e_phentsize == sizeof *parts && header->e_phnum <= ELF_PARTS_MOST &&
           read_at(fd, header->e_phoff, parts, header->e_phnum * sizeof *parts);
}

/* Visits one symbol table. False: the visitor wants no more. */
static bool visit_table(int fd, const Elf64_Shdr *table, const Elf64_Shdr *strings,
                        elf_visit *visit, void *context)
{
    gordian_allocator memory = memory_allocator(NULL);
    size_t count = table->sh_size / sizeof(Elf64_Sym), bytes = strings->sh_size;
    bool more = true;
    if (table->sh_size > TABLE_MOST || bytes > TABLE_MOST || bytes == 0 || count == 0)
        return true;
    Elf64_Sym *symbols = memory_alloc(&memory, count * sizeof *symbols);
    char *names = memory_alloc(&memory, bytes);
    if (symbols && names && read_at(fd, table->sh_offset, symbols, count * sizeof *symbols) &&
        read_at(fd, strings->sh_offset, names, bytes)) {
        names[bytes - 1] = '\0';
        for (size_t i = 0; i < count && more; i++)
            if (symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_name < bytes)
                more = visit(context, names + symbols[i].st_name, &symbols[i]);
    }
    memory_free_all(&memory, symbols, names);
    return more;
}

bool elf_symbols(int fd, elf_visit *visit, void *context, uint64_t *base)
{
    gordian_allocator memory = memory_allocator(NULL);
    Elf64_Ehdr header;
    Elf64_Phdr parts[ELF_PARTS_MOST];
    if (!elf_parts(fd, &header, parts) || header.e_shentsize != sizeof(Elf64_Shdr) ||
        header.e_shnum == 0)
        return false;
    *base = 0;
    for (unsigned i = header.e_phnum; i-- > 0;)
        if (parts[i].p_type == PT_LOAD)
            *base = parts[i].p_vaddr - parts[i].p_offset;
    Elf64_Shdr *sections = memory_alloc(&memory, header.e_shnum * sizeof *sections);
    bool read =
        sections && read_at(fd, header.e_shoff, sections, header.e_shnum * sizeof *sections);
    bool more = read;
    for (unsigned i = 0; i < header.e_shnum && more; i++)
        if ((sections[i].sh_type == SHT_SYMTAB || sections[i].sh_type == SHT_DYNSYM) &&
            sections[i].sh_link < header.e_shnum)
            more = visit_table(fd, &sections[i], &sections[sections[i].sh_link], visit, context);
    memory_free(&memory, sections);
    return read;
}
