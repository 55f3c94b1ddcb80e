/* The symbolizer of a program with elfutils linked in. */
#include "output/report/symbol/elfutils_internal.h"

const struct symbolizer_table *symbols_best(char *why, size_t size)
{
    (void)why;
    (void)size;
    return &gordian_stacks;
}
