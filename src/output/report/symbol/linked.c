/* The symbolizer of a program with elfutils linked in. */
#include "output/report/symbol/inside.h"

const struct symbol_ways *symbols_best(char *why, size_t size)
{
    (void)why;
    (void)size;
    return &gordian_stacks;
}
