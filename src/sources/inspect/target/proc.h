/* Reads small files of /proc and parses their lines. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads a small file. Returns the number of bytes, with a NUL after them; -1: errno. */
ssize_t proc_read(char *text, size_t size, const char *path, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a path relative to an open folder. */
ssize_t proc_read_at(int folder, const char *path, char *text, size_t size);
/* Reads the file `name` of a thread. */
ssize_t proc_read_thread(uint32_t pid, uint32_t tid, const char *name, char *text, size_t size);

#define PROC_STAT 1024
/* Returns the fields in /proc/ID/stat from the state on, which follow the name (any text). NULL:
 * the process or thread has ended. */
const char *proc_stat(uint32_t id, char text[PROC_STAT]);
/* Returns whether it is exiting, has no memory, or has ended. */
bool proc_is_ending(uint32_t id);
/* Returns whether it is a kernel thread. */
bool proc_is_kernel(uint32_t id);

/* Returns a live thread of a process through which its memory and files are accessible: the main
 * thread, or another one if the main thread has ended. 0: none. */
uint32_t proc_living(uint32_t pid);

/* Reads the link of a descriptor, through a thread (proc_living). False: there is no such
 * descriptor, and the text is empty. */
bool proc_descriptor(uint32_t through, uint64_t fd, char *text, size_t size);

/* Returns the text that follows a word at the start of a line, or NULL. */
const char *proc_line(const char *text, const char *word);
/* Returns the number there; 0: none. */
uint64_t proc_number(const char *text, const char *word, int base);
