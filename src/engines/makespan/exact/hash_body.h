/* The hash table slot of a word's state, independent of its time, for one word size. Included after
 * expand_body.h or largest_body.h. */

static uint64_t NAME(hash)(const struct NAME(expansion) * x, WORD word)
{
    WORD state = word >> x->time_bits;
    uint64_t h = (uint64_t)state * UINT64_C(0x9e3779b97f4a7c15);
#if WORD_BITS == 128
    h ^= (uint64_t)(state >> 64) * UINT64_C(0xc2b2ae3d27d4eb4f);
#endif
    h ^= h >> 29;
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ h >> 32;
}
