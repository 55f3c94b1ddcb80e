/* Hashing and comparing names as two words. Most names have at most 16 bytes. If more bytes are
 * readable, those behind the name are masked, which needs no branch on the length. */
#pragma once

#include "foundation/base/hash.h"

#define SHORT_MAX 16

struct short_name {
    uint64_t low, high;
};

/* The first byte is the lowest one. */
static inline uint64_t short_word(const char *at)
{
    uint64_t word = hash_load64(at);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Mask of the first `length` bytes (at most 16) of two words. */
static inline struct short_name short_mask(size_t length)
{
    static const unsigned char bytes[2 * SHORT_MAX] = {
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    };
    const char *from = (const char *)bytes + SHORT_MAX - length;
    return (struct short_name){short_word(from), short_word(from + 8)};
}

static inline uint64_t short_half(const char *at)
{
    uint32_t half = hash_load32(at);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    half = __builtin_bswap32(half);
#endif
    return half;
}

/* Both factors contain a blank, so that no name makes one of them 0. */
#define SHORT_FACTOR_1 UINT64_C(0x9e3779b97f4a2015)
#define SHORT_FACTOR_2 UINT64_C(0xd6e8feb820596f93)

/* One product instead of a chain of them. Names have no NUL, so the words determine the length. */
static inline uint64_t short_hash_words(struct short_name name)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)(name.low ^ SHORT_FACTOR_1) * (name.high ^ SHORT_FACTOR_2);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Loads a short name without reading behind it: overlapping loads read some bytes twice. */
static inline struct short_name short_load(const char *name, size_t length)
{
    const unsigned char *few = (const unsigned char *)name;
    if (length > 8)
        return (struct short_name){short_word(name),
                                   short_word(name + length - 8) >> 8 * (16 - length)};
    if (length == 8)
        return (struct short_name){short_word(name), 0};
    if (length >= 4)
        return (struct short_name){
            short_half(name) | short_half(name + length - 4) << 8 * (length - 4), 0};
    if (length == 0)
        return (struct short_name){0};
    return (struct short_name){few[0] | (uint64_t)few[length / 2] << 8 * (length / 2) |
                                   (uint64_t)few[length - 1] << 8 * (length - 1),
                               0};
}

/* Stores all 16 bytes. */
static inline void short_store(char *to, struct short_name name)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    name = (struct short_name){__builtin_bswap64(name.low), __builtin_bswap64(name.high)};
#endif
    memcpy(to, &name.low, sizeof name.low);
    memcpy(to + 8, &name.high, sizeof name.high);
}

static inline uint64_t short_hash(const char *name, size_t length)
{
    return length > SHORT_MAX ? hash_bytes(name, length)
                              : short_hash_words(short_load(name, length));
}

static inline uint64_t short_hash_slack(const char *name, size_t length)
{
    if (length > SHORT_MAX)
        return hash_bytes(name, length);
    struct short_name mask = short_mask(length);
    return short_hash_words(
        (struct short_name){short_word(name) & mask.low, short_word(name + 8) & mask.high});
}

/* Compares two names with slack. */
static inline bool short_same(const char *one, const char *other, size_t length)
{
    if (length > SHORT_MAX)
        return memcmp(one, other, length) == 0;
    struct short_name mask = short_mask(length);
    return (((short_word(one) ^ short_word(other)) & mask.low) |
            ((short_word(one + 8) ^ short_word(other + 8)) & mask.high)) == 0;
}
