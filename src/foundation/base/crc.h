/* Checksum CRC-32C (Castagnoli). Uses the processor's instruction if it has one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns the checksum of the bytes. `crc` is 0, or the checksum of the bytes before them. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t count);
