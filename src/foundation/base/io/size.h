/* Sizes such as 512M. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parses 512M, 4G: powers of 1024. False: malformed or too large. */
bool parse_size(const char *text, size_t length, uint64_t *bytes);
