/* Child processes, to measure or to compare with: programs built with this one, SPIN, mpirun, gdb.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Runs a program in the folder and stores its output, cut to size. Returns its exit status; -1: it
 * could not be run, or was killed. */
int child_status(const char *folder, const char *const *words, char *text, size_t size);

/* Finds a program that was built with this one, or installed next to `gordian`; false: not found.
 */
bool child_sibling(const char *name, char *path, size_t size);
/* Finds `gordian`, the main program that this helper program belongs to; false: not found. */
bool child_gordian(char *path, size_t size);
/* Is there a program of this name in PATH? */
bool child_in_path(const char *name);
/* Is there an mpirun? Also allows it to run more ranks than this machine has cores. */
bool child_mpirun(void);
