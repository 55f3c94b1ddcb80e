/* Sizes as people write them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 512M, 4G: powers of 1024. False: it is none, or too large. */
bool parse_size(const char *text, size_t length, uint64_t *bytes);
