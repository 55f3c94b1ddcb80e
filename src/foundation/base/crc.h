/* CRC-32C (Castagnoli), with the processor's own instruction where it has one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Of the bytes; to go on with more of them, hand in what came out: 0 at the start. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t count);
