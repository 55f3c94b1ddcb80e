/* The kernel's PTX, embedded by the build. */
#include "ptx/own.h"

extern const char ptx_own[];
extern const size_t ptx_own_size;

const char *own_ptx(size_t *size)
{
    *size = ptx_own_size;
    return ptx_own;
}
