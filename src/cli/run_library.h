/* The library that `gordian run` preloads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns its path; false: `why` is the reason. */
bool run_library(char *path, size_t size, char *why, size_t why_size);
