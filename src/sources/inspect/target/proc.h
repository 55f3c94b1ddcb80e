/* Small files of /proc, and what stands in their lines. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads the small file of this path. Returns how many bytes, ended by a NUL; -1: errno. */
ssize_t proc_read(char *text, size_t size, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
/* The file `name` of a thread. */
ssize_t proc_read_thread(uint32_t pid, uint32_t tid, const char *name, char *text, size_t size);

#define PROC_STAT 1024
/* The fields of the stat of a process or thread, from its state on: what stands behind its name,
 * which may be anything. NULL: it is gone. */
const char *proc_stat(uint32_t id, char text[PROC_STAT]);
/* On its way out, without memory, or gone. */
bool proc_is_ending(uint32_t id);
/* A thread of the kernel: everybody may know that. */
bool proc_is_kernel(uint32_t id);

/* A thread of a process that lives, through which its memory and its files can be seen: the first,
 * whose number is the process's, unless that has ended before the others. 0: none. */
uint32_t proc_living(uint32_t pid);

/* What a descriptor stands for, as the kernel names it, seen through a thread (proc_living); false:
 * it is not there, and the text is empty. */
bool proc_descriptor(uint32_t through, uint64_t fd, char *text, size_t size);

/* What follows a word at the start of a line, or NULL. */
const char *proc_line(const char *text, const char *word);
/* The number there; 0: none. */
uint64_t proc_number(const char *text, const char *word, int base);
