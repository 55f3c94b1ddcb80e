/* The symbols of a program file of 64 bits, read without a library. Whatever the file holds, only
 * what is in it is read. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

/* Called with each symbol that is defined in the file; false: enough. */
typedef bool elf_visit(void *context, const char *name, const Elf64_Sym *symbol);

/* All symbols, those for the linker and those for the loader. `base`: the address that the file's
 * first byte would have. False: none could be read. */
bool elf_symbols(int fd, elf_visit *visit, void *context, uint64_t *base);
