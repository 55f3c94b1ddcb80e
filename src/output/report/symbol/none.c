/* The symbolizer of a program built without elfutils. */
#include "output/report/symbol/symbolizer.h"

#include <stdio.h>

const struct symbolizer_table *symbols_best(char *why, size_t size)
{
    snprintf(why, size, "built without elfutils (libdw, libelf)");
    return NULL;
}
