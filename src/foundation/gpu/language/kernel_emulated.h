/* The operations of kernel.h in plain C, for the kernel emulator (machine.h): each kernel thread is
 * a fiber that yields at barriers, warp operations and in waiting loops. */
#pragma once

/* A kernel thread's position. */
struct emulated_thread {
    uint32_t thread, block, threads, blocks;
};

/* A kernel in the emulator's table. */
struct emulated_kernel {
    void (*run)(const void *arguments);
    size_t arguments_size;
};

/* The thread that runs on this host thread; NULL outside of kernels. */
extern _Thread_local struct emulated_thread *emulated_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

enum emulated_warp_operation {
    EMULATED_WARP_BARRIER,
    EMULATED_WARP_BALLOT,
    EMULATED_WARP_SHUFFLE,
    EMULATED_WARP_SHUFFLE_DOWN,
    EMULATED_WARP_SHUFFLE_UP,
    EMULATED_WARP_SHUFFLE_XOR,
    EMULATED_WARP_ADD,
    EMULATED_WARP_MIN,
    EMULATED_WARP_MAX,
    EMULATED_WARP_OR,
    EMULATED_WARP_AND,
    EMULATED_WARP_MATCH,
};

/* Waits for all lanes of the mask and returns this lane's result. */
uint64_t emulated_warp(enum emulated_warp_operation operation, uint32_t mask, uint64_t x,
                       uint32_t lane);
/* Waits for the whole block and returns the number of its threads with x set. */
uint32_t emulated_block(bool x);
/* Called after a step that may belong to a waiting loop: lets other threads run. `same`: the step
 * changed nothing and read nothing new. A kernel that only does such steps is stuck. */
void emulated_step(bool same);
/* Called after a load in a waiting loop, with the value. */
void emulated_seen(const volatile void *at, uint64_t x);
void emulated_nap(uint32_t nanoseconds);
uint64_t emulated_ns(void);
/* Returns the block's array for this declaration. */
void *emulated_shared(const void *declaration, size_t bytes);
void *emulated_shared_dynamic(void);
void require_cooperative(void);
void trap(void) __attribute__((noreturn));

#define DEVICE       static inline
#define DEVICE_APART static __attribute__((noinline, unused))
#define KERNEL(name, type)                                                                         \
    static void name(const type a);                                                                \
    static void name##_start(const void *arguments)                                                \
    {                                                                                              \
        name(*(const type *)arguments);                                                            \
    }                                                                                              \
    extern const struct emulated_kernel emulated_##name;                                           \
    const struct emulated_kernel emulated_##name = {name##_start, sizeof(type)};                   \
    static void name(const type a)
#define KERNEL_BOUNDED(name, type, threads, blocks) KERNEL(name, type)

#define THREAD_INDEX (emulated_thread->thread)
#define BLOCK_INDEX  (emulated_thread->block)
#define BLOCK_SIZE   (emulated_thread->threads)
#define GRID_SIZE    (emulated_thread->blocks)
#define LANE         (emulated_thread->thread % WARP_SIZE)

/* Types and names in declarations cannot be in parentheses. */
/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define SHARED(type, name, count)                                                                  \
    static const char name##_declaration = 0;                                                      \
    type *name = (type *)emulated_shared(&name##_declaration, sizeof(type) * (count))
#define SHARED2(type, name, rows, columns)                                                         \
    static const char name##_declaration = 0;                                                      \
    type(*name)[columns] =                                                                         \
        (type(*)[columns])emulated_shared(&name##_declaration, sizeof(type) * (rows) * (columns))
#define SHARED_DYNAMIC(type, name) type *name = (type *)emulated_shared_dynamic()
/* NOLINTEND(bugprone-macro-parentheses) */

typedef struct uint4 {
    uint32_t x, y, z, w;
} __attribute__((aligned(16))) uint4;

typedef struct ulonglong2 {
    unsigned long long x, y;
} __attribute__((aligned(16))) ulonglong2;

/* ---- barriers and votes */

DEVICE void block_barrier(void)
{
    emulated_block(false);
}

DEVICE bool block_any(bool x)
{
    return emulated_block(x) != 0;
}

DEVICE uint32_t block_count(bool x)
{
    return emulated_block(x);
}

DEVICE void warp_barrier(uint32_t mask)
{
    emulated_warp(EMULATED_WARP_BARRIER, mask, 0, 0);
}

DEVICE uint32_t warp_ballot(uint32_t mask, bool x)
{
    return (uint32_t)emulated_warp(EMULATED_WARP_BALLOT, mask, x, 0);
}

DEVICE bool warp_any(uint32_t mask, bool x)
{
    return warp_ballot(mask, x) != 0;
}

DEVICE bool warp_all(uint32_t mask, bool x)
{
    return warp_ballot(mask, !x) == 0;
}

#define EMULATED_REDUCE(word, operation)                                                           \
    DEVICE uint32_t word(uint32_t mask, uint32_t x)                                                \
    {                                                                                              \
        return (uint32_t)emulated_warp(operation, mask, x, 0);                                     \
    }

EMULATED_REDUCE(warp_match, EMULATED_WARP_MATCH)
EMULATED_REDUCE(warp_reduce_add, EMULATED_WARP_ADD)
EMULATED_REDUCE(warp_reduce_min, EMULATED_WARP_MIN)
EMULATED_REDUCE(warp_reduce_max, EMULATED_WARP_MAX)
EMULATED_REDUCE(warp_reduce_or, EMULATED_WARP_OR)
EMULATED_REDUCE(warp_reduce_and, EMULATED_WARP_AND)
#undef EMULATED_REDUCE

#define EMULATED_SHUFFLE(word, operation)                                                          \
    DEVICE uint32_t word(uint32_t mask, uint32_t x, uint32_t lane)                                 \
    {                                                                                              \
        return (uint32_t)emulated_warp(operation, mask, x, lane);                                  \
    }                                                                                              \
    DEVICE uint64_t word##64(uint32_t mask, uint64_t x, uint32_t lane)                             \
    {                                                                                              \
        return emulated_warp(operation, mask, x, lane);                                            \
    }

EMULATED_SHUFFLE(warp_shuffle, EMULATED_WARP_SHUFFLE)
EMULATED_SHUFFLE(warp_shuffle_down, EMULATED_WARP_SHUFFLE_DOWN)
EMULATED_SHUFFLE(warp_shuffle_up, EMULATED_WARP_SHUFFLE_UP)
EMULATED_SHUFFLE(warp_shuffle_xor, EMULATED_WARP_SHUFFLE_XOR)
#undef EMULATED_SHUFFLE

/* ---- atomics: relaxed on the device, stronger here, where it does not matter */

#define EMULATED_ATOMIC(word, bits, operation)                                                     \
    DEVICE uint##bits##_t atomic_##word##bits(uint##bits##_t *at, uint##bits##_t x)                \
    {                                                                                              \
        uint##bits##_t old = operation(at, x, __ATOMIC_SEQ_CST);                                   \
        emulated_step(__atomic_load_n(at, __ATOMIC_RELAXED) == old);                               \
        return old;                                                                                \
    }
#define EMULATED_ATOMIC_CHOICE(word, bits, better)                                                 \
    DEVICE uint##bits##_t atomic_##word##bits(uint##bits##_t *at, uint##bits##_t x)                \
    {                                                                                              \
        uint##bits##_t old = __atomic_load_n(at, __ATOMIC_SEQ_CST);                                \
        while (x better old && !__atomic_compare_exchange_n(at, &old, x, false, __ATOMIC_SEQ_CST,  \
                                                            __ATOMIC_SEQ_CST))                     \
            continue;                                                                              \
        emulated_step(!(x better old));                                                            \
        return old;                                                                                \
    }
#define EMULATED_COMPARE_EXCHANGE(bits)                                                            \
    DEVICE uint##bits##_t atomic_compare_exchange##bits(                                           \
        uint##bits##_t *at, uint##bits##_t expected, uint##bits##_t wanted)                        \
    {                                                                                              \
        uint##bits##_t old = expected;                                                             \
        bool done = __atomic_compare_exchange_n(at, &old, wanted, false, __ATOMIC_SEQ_CST,         \
                                                __ATOMIC_SEQ_CST);                                 \
        emulated_step(!done);                                                                      \
        return old;                                                                                \
    }
#define EMULATED_ATOMICS(bits)                                                                     \
    EMULATED_ATOMIC(add, bits, __atomic_fetch_add)                                                 \
    EMULATED_ATOMIC(or, bits, __atomic_fetch_or)                                                   \
    EMULATED_ATOMIC(and, bits, __atomic_fetch_and)                                                 \
    EMULATED_ATOMIC(exchange, bits, __atomic_exchange_n)                                           \
    EMULATED_ATOMIC_CHOICE(min, bits, <)                                                           \
    EMULATED_ATOMIC_CHOICE(max, bits, >)                                                           \
    EMULATED_COMPARE_EXCHANGE(bits)

EMULATED_ATOMICS(32)
EMULATED_ATOMICS(64)
#undef EMULATED_ATOMICS
#undef EMULATED_COMPARE_EXCHANGE
#undef EMULATED_ATOMIC_CHOICE
#undef EMULATED_ATOMIC

/* ---- ordered loads and stores */

DEVICE uint64_t load_relaxed64(const uint64_t *at)
{
    uint64_t x = __atomic_load_n(at, __ATOMIC_RELAXED);
    emulated_step(false);
    return x;
}

#define EMULATED_ORDERED(suffix, bits)                                                             \
    DEVICE uint##bits##_t load_acquire##suffix##bits(const uint##bits##_t *at)                     \
    {                                                                                              \
        uint##bits##_t x = __atomic_load_n(at, __ATOMIC_ACQUIRE);                                  \
        emulated_seen(at, x);                                                                      \
        return x;                                                                                  \
    }                                                                                              \
    DEVICE void store_release##suffix##bits(uint##bits##_t *at, uint##bits##_t x)                  \
    {                                                                                              \
        __atomic_store_n(at, x, __ATOMIC_RELEASE);                                                 \
        emulated_step(false);                                                                      \
    }

EMULATED_ORDERED(, 32)
EMULATED_ORDERED(, 64)
EMULATED_ORDERED(_system, 32)
EMULATED_ORDERED(_system, 64)
#undef EMULATED_ORDERED

/* ThreadSanitizer does not support fences. */
DEVICE void fence_block(void)
{
#ifdef __SANITIZE_THREAD__
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

DEVICE void fence_device(void)
{
    fence_block();
}

DEVICE void fence_system(void)
{
    fence_block();
}

/* ---- the rest */

DEVICE void nap(uint32_t nanoseconds)
{
    emulated_nap(nanoseconds);
}

DEVICE uint64_t device_ns(void)
{
    return emulated_ns();
}

DEVICE uint32_t popcount32(uint32_t x)
{
    return (uint32_t)__builtin_popcount(x);
}

DEVICE uint32_t popcount64(uint64_t x)
{
    return (uint32_t)__builtin_popcountll(x);
}

DEVICE uint32_t find_first32(uint32_t x)
{
    return (uint32_t)__builtin_ctz(x);
}

DEVICE uint32_t find_first64(uint64_t x)
{
    return (uint32_t)__builtin_ctzll(x);
}

DEVICE uint32_t leading_zeros32(uint32_t x)
{
    return (uint32_t)__builtin_clz(x);
}
