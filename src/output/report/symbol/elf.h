/* Reads the symbols of a 64-bit ELF file without a library. Invalid files are safe: every access is
 * checked. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

/* Called for each symbol defined in the file. False: stop. */
typedef bool elf_visit(void *context, const char *name, const Elf64_Sym *symbol);

/* Visits all symbols, static and dynamic. `base`: the virtual address of the first byte of the
 * file. False: none could be read. */
bool elf_symbols(int fd, elf_visit *visit, void *context, uint64_t *base);
