/* Small files of /proc, and what stands in their lines. */
#ifndef GORDIAN_INSPECT_PROC_H
#define GORDIAN_INSPECT_PROC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A small file; how many bytes, ended by a NUL. -1: errno. */
ssize_t proc_read(int folder, const char *path, char *text, size_t size);
/* The file `name` of a thread. */
ssize_t proc_read_thread(uint32_t pid, uint32_t tid, const char *name, char *text, size_t size);

/* What follows a word at the start of a line, or NULL. */
const char *proc_line(const char *text, const char *word);
/* The number there; 0: none. */
uint64_t proc_number(const char *text, const char *word, int base);

#endif
