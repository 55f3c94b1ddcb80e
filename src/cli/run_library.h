/* The library that `gordian run` preloads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Its path; false: `why` says what is missing. */
bool run_library(char *path, size_t size, char *why, size_t why_size);
