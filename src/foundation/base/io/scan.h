/* SIMD scan of text, 64 bytes at a time: which bytes belong to words, which end lines, and so on,
 * as bit sets; bit 0 is the first byte. foundation/base/io/reader.h defines what a word is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#define SCAN_BYTES 64

typedef uint8_t scan_bytes __attribute__((vector_size(16)));

/* Gathers one bit of each byte. The bytes are all ones or all zeros. */
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
    uint64_t word;    /* neither a blank nor the end of a line */
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

#if defined(__ARM_NEON) && defined(__aarch64__)
/* Classes of bytes, a bit each. A byte has the classes that both of its halves allow. */
enum { SCAN_TAB = 1, SCAN_NEWLINE = 2, SCAN_SPACE = 4, SCAN_HASH = 8, SCAN_NUL = 16, SCAN_IS = 32 };

static inline uint8x16_t scan_kinds(uint8x16_t text)
{
    static const uint8_t low[16] = {
        [0x0] = SCAN_SPACE | SCAN_NUL, [0x3] = SCAN_HASH,          [0x9] = SCAN_TAB,
        [0xa] = SCAN_NEWLINE,          [0xd] = SCAN_TAB | SCAN_IS,
    };
    static const uint8_t high[16] = {
        [0x0] = SCAN_TAB | SCAN_NEWLINE | SCAN_NUL,
        [0x2] = SCAN_SPACE | SCAN_HASH,
        [0x3] = SCAN_IS,
    };
    return vandq_u8(vqtbl1q_u8(vld1q_u8(low), vandq_u8(text, vdupq_n_u8(15))),
                    vqtbl1q_u8(vld1q_u8(high), vshrq_n_u8(text, 4)));
}

static inline bool scan_sort(const scan_bytes at[4], scan_bytes word[4], scan_bytes newline[4])
{
    uint8x16_t seen = vdupq_n_u8(0);
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {
        uint8x16_t kinds = scan_kinds((uint8x16_t)at[i]);
        word[i] = (scan_bytes)vceqzq_u8(vbicq_u8(kinds, vdupq_n_u8(SCAN_IS)));
        newline[i] = (scan_bytes)vtstq_u8(kinds, vdupq_n_u8(SCAN_NEWLINE));
        seen = vorrq_u8(seen, kinds);
    }
    return vmaxvq_u8(seen) >= SCAN_HASH;
}
#else
static inline bool scan_sort(const scan_bytes at[4], scan_bytes word[4], scan_bytes newline[4])
{
    scan_bytes other[4];
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {
        scan_bytes ends = scan_equal(at[i], '#') | scan_equal(at[i], '\0');
        newline[i] = scan_equal(at[i], '\n');
        other[i] = ends | scan_equal(at[i], '=');
        word[i] = ~(scan_equal(at[i], ' ') | scan_equal(at[i], '\t') | scan_equal(at[i], '\r') |
                    newline[i] | ends);
    }
    return scan_bits(other) != 0;
}
#endif

/* Most text has no '#', '=' or NUL: test for all three at once first. */
static inline struct scan scan_text(const char *text)
{
    scan_bytes at[4], word[4], newline[4];
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++)
        memcpy(&at[i], text + 16 * i, sizeof at[i]);
    bool other = scan_sort(at, word, newline);
    struct scan scan = {.word = scan_bits(word), .newline = scan_bits(newline)};
    if (other) {
        scan.comment = scan_for(at, '#');
        scan.nul = scan_for(at, '\0');
        scan.equals = scan_for(at, '=');
    }
    return scan;
}

/* Returns base + the position of the lowest bit set (bit 63 if none). Prevents the compiler from
 * gathering these numbers into vectors before the store, which is slower. */
static inline uint32_t scan_lowest(uint64_t bits, uint32_t base)
{
    uint32_t number = base + (uint32_t)__builtin_ctzll(bits | UINT64_C(1) << 63);
    __asm__("" : "+r"(number));
    return number;
}

/* Writes base + the position of every bit set, in order, and returns the count. It writes `step` at
 * a time, so that unused numbers may follow. `step` fits most texts: a mispredicted branch costs
 * more than the extra stores. */
static inline unsigned scan_flatten(uint64_t bits, uint32_t base, uint32_t *out, unsigned step)
{
    unsigned count = (unsigned)__builtin_popcountll(bits);
    for (unsigned done = 0; done < count; done += step)
#pragma GCC unroll 16
        for (unsigned i = 0; i < step; i++) {
            out[done + i] = scan_lowest(bits, base);
            bits &= bits - 1;
        }
    return count;
}

/* The same; writes the position before each bit set, and then its own. */
static inline unsigned scan_flatten_pairs(uint64_t bits, uint32_t base, uint32_t *out,
                                          unsigned step)
{
    unsigned count = (unsigned)__builtin_popcountll(bits);
    for (unsigned done = 0; done < count; done += step)
#pragma GCC unroll 16
        for (unsigned i = 0; i < step; i++) {
            uint32_t number = scan_lowest(bits, base);
            out[2 * (done + i)] = number - 1;
            out[2 * (done + i) + 1] = number;
            bits &= bits - 1;
        }
    return 2 * count;
}
