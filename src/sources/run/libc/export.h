/* Exports a wrapper under libc's names and versions (symbol interposition).
 *
 *     WRAPPER(int, pthread_join, (pthread_t thread, void **value))
 *     {
 *         ...
 *     }
 *     EXPORT2(pthread_join, V_2_34, V_OLDEST)
 *
 * Programs request the version they were linked with, so every version is exported. real.c decides
 * which function of libc belongs to a version.
 */
#pragma once

#if defined(__x86_64__)
#define V_OLDEST  "GLIBC_2.2.5" /* the first libc of this machine */
#define V_COND    "GLIBC_2.3.2" /* current layout of condition variables */
#define V_TIMED   "GLIBC_2.3.3" /* pthread_timedjoin_np, pthread_tryjoin_np */
#define V_EXECVPE "GLIBC_2.11"
#define V_CHECKED "GLIBC_2.11" /* __longjmp_chk */
#define V_SPAWN   "GLIBC_2.15"
#else /* aarch64 has no older versions (meson.build) */
#define V_OLDEST  "GLIBC_2.17"
#define V_COND    V_OLDEST
#define V_TIMED   V_OLDEST
#define V_EXECVPE V_OLDEST
#define V_CHECKED V_OLDEST
#define V_SPAWN   V_OLDEST
#endif
#define V_2_28 "GLIBC_2.28" /* C11 threads */
#define V_2_30 "GLIBC_2.30" /* functions with a clock parameter */
#define V_2_31 "GLIBC_2.31"
#define V_2_34 "GLIBC_2.34" /* libpthread became part of libc */

#define EXPORTED __attribute__((visibility("default"), used))

/* clang-format off */
#define WRAPPER(type, name, arguments)                                                             \
    EXPORTED type wrap_##name arguments;                                                           \
    EXPORTED type wrap_##name arguments
/* clang-format on */

/* A wrapper with one argument that jumps to `function` with two more: the frame of its caller, and
 * the return address. */
#if defined(__x86_64__)
#define ENTRY_LANDING "endbr64\n\t"
#define ENTRY_SITE    "movq %rbp, %rsi\n\tmovq (%rsp), %rdx\n\tjmp "
#else
#define ENTRY_LANDING "hint #34\n\t" /* bti c */
#define ENTRY_SITE    "mov x1, x29\n\tmov x2, x30\n\tb "
#endif
#define ENTRY(name, function)                                                                      \
    __asm__(".text\n\t"                                                                            \
            ".p2align 5\n\t"                                                                       \
            ".globl wrap_" #name "\n\t"                                                            \
            ".type wrap_" #name ", %function\n"                                                    \
            "wrap_" #name ":\n\t"                                                                  \
            ".cfi_startproc\n\t" ENTRY_LANDING ENTRY_SITE function "\n\t"                          \
            ".cfi_endproc\n\t"                                                                     \
            ".size wrap_" #name ", .-wrap_" #name)

/* Exports one version. */
#define EXPORT(name, version) __asm__(".symver wrap_" #name "," #name "@@" version)
/* Exports the default version and an older one, which are the same. */
#define EXPORT2(name, version, older)                                                              \
    EXPORT(name, version);                                                                         \
    EXPORTED extern __typeof__(wrap_##name) older_##name __attribute__((alias("wrap_" #name)));    \
    __asm__(".symver older_" #name "," #name "@" older)
