#include "foundation/base/crc.h"

#include <stdbool.h>
#include <string.h>

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1ul << 7)
#endif
#endif

/* Four bits at a time, for processors without a CRC instruction. */
static uint32_t crc_plain(uint32_t crc, const uint8_t *bytes, size_t count)
{
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc;
}

#if defined(__x86_64__)

static bool has_instruction(void)
{
    return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t crc_fast(uint32_t crc, const uint8_t *bytes,
                                                           size_t count)
{
    uint64_t wide = crc, word;
    for (; count >= sizeof word; bytes += sizeof word, count -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; count > 0; bytes++, count--)
        crc = __builtin_ia32_crc32qi(crc, *bytes);
    return crc;
}

#elif defined(__aarch64__) && defined(__linux__)

static bool has_instruction(void)
{
    return getauxval(AT_HWCAP) & HWCAP_CRC32;
}

/* Inline assembly, because gcc and clang name the target feature differently. */
static uint32_t crc_fast(uint32_t crc, const uint8_t *bytes, size_t count)
{
    uint64_t word;
    for (; count >= sizeof word; bytes += sizeof word, count -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %1" : "+r"(crc) : "r"(word));
    }
    for (; count > 0; bytes++, count--)
        __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(*bytes));
    return crc;
}

#else

static bool has_instruction(void)
{
    return false;
}

static uint32_t crc_fast(uint32_t crc, const uint8_t *bytes, size_t count)
{
    return crc_plain(crc, bytes, count);
}

#endif

uint32_t crc32c(uint32_t crc, const void *bytes, size_t count)
{
    crc = has_instruction() ? crc_fast(~crc, bytes, count) : crc_plain(~crc, bytes, count);
    return ~crc;
}
