#include "sources/run/libc/lock_word.h"

#if defined(__aarch64__)
#include <sys/auxv.h>

bool word_has_atomics;

void word_start(void)
{
    word_has_atomics = getauxval(AT_HWCAP) & HWCAP_ATOMICS;
}
#else
void word_start(void)
{
}
#endif
