/* Text looked at 64 bytes at a time: which of them belong to words, which end lines, ...: one bit a
 * byte, the lowest for the first. The reader (base/reader.h) says what a word is. */
#ifndef GORDIAN_BASE_SCAN_H
#define GORDIAN_BASE_SCAN_H

#include <stdint.h>
#include <string.h>

#if defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#define SCAN_BYTES 64

typedef uint8_t scan_bytes __attribute__((vector_size(16)));

/* Bytes are all ones or all zeros: a bit of each. */
static inline uint64_t scan_bits(const scan_bytes found[4])
{
#if defined(__ARM_NEON) && defined(__aarch64__)
    const uint8x16_t bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t low =
        vpaddq_u8(vandq_u8((uint8x16_t)found[0], bit), vandq_u8((uint8x16_t)found[1], bit));
    uint8x16_t high =
        vpaddq_u8(vandq_u8((uint8x16_t)found[2], bit), vandq_u8((uint8x16_t)found[3], bit));
    low = vpaddq_u8(low, high);
    low = vpaddq_u8(low, low);
    return vgetq_lane_u64(vreinterpretq_u64_u8(low), 0);
#elif defined(__SSE2__)
    uint64_t bits = 0;
    for (unsigned i = 4; i-- > 0;)
        bits = bits << 16 | (uint16_t)_mm_movemask_epi8((__m128i)found[i]);
    return bits;
#else
    uint64_t bits = 0;
    for (unsigned i = 0; i < SCAN_BYTES; i++)
        bits |= (uint64_t)(found[i / 16][i % 16] & 1) << i;
    return bits;
#endif
}

static inline scan_bytes scan_all(uint8_t byte)
{
    return (scan_bytes){byte, byte, byte, byte, byte, byte, byte, byte,
                        byte, byte, byte, byte, byte, byte, byte, byte};
}

static inline scan_bytes scan_equal(scan_bytes text, char byte)
{
    return (scan_bytes)(text == scan_all((uint8_t)byte));
}

struct scan {
    uint64_t word;    /* neither a blank nor the end of one */
    uint64_t newline; /* '\n' */
    uint64_t comment; /* '#' */
    uint64_t nul;     /* '\0' */
    uint64_t equals;  /* '=' */
};

static inline uint64_t scan_for(const scan_bytes text[4], char byte)
{
    scan_bytes found[4];
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++)
        found[i] = scan_equal(text[i], byte);
    return scan_bits(found);
}

/* Most text has none of '#', '=' and NUL: they are looked for together first. */
static inline struct scan scan_text(const char *text)
{
    scan_bytes at[4], word[4], newline[4], other[4];
    memcpy(at, text, sizeof at);
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {
        scan_bytes ends = scan_equal(at[i], '#') | scan_equal(at[i], '\0');
        newline[i] = scan_equal(at[i], '\n');
        other[i] = ends | scan_equal(at[i], '=');
        word[i] = ~(scan_equal(at[i], ' ') | scan_equal(at[i], '\t') | scan_equal(at[i], '\r') |
                    newline[i] | ends);
    }
    struct scan scan = {.word = scan_bits(word), .newline = scan_bits(newline)};
    if (scan_bits(other)) {
        scan.comment = scan_for(at, '#');
        scan.nul = scan_for(at, '\0');
        scan.equals = scan_for(at, '=');
    }
    return scan;
}

/* Writes base + the number of every bit set, in order, and up to seven numbers more behind them;
 * the count. */
static inline unsigned scan_flatten(uint64_t bits, uint32_t base, uint32_t *out)
{
    unsigned count = (unsigned)__builtin_popcountll(bits);
    for (unsigned done = 0; done < count; done += 8)
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++) {
            /* (none left: bit 63, which nobody reads) */
            out[done + i] = base + (uint32_t)__builtin_ctzll(bits | UINT64_C(1) << 63);
            bits &= bits - 1;
        }
    return count;
}

#endif
