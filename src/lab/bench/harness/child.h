/* Other programs, to measure or to compare with: those built with this one, SPIN, mpirun, gdb. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Runs a program in the folder; what it prints, as far as it fits. Its exit status; -1: it could
 * not be run, or was ended. */
int child_status(const char *folder, const char *const *words, char *text, size_t size);

/* The path of a program that was built with this one, or installed next to `gordian`; false: it is
 * not there. */
bool child_beside(const char *name, char *path, size_t size);
/* The path of `gordian`, of which this program is a part; false: it is not there. */
bool child_gordian(char *path, size_t size);
/* Is there a program of this name to be run? */
bool child_in_path(const char *name);
/* Is there an mpirun? It is told that this machine's cores are enough for any number of ranks. */
bool child_mpirun(void);
