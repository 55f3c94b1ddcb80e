/* The closure of a square bit matrix by node hopping (lmdda.h). */
#include "gpu/kernels/hop_rounds.h"

KERNEL_BOUNDED(bit_closure, struct bit_closure_arguments, BOOL_TILE_THREADS, 1)
{
    struct bit_closure_arguments closure = a;
    hop_rounds(&closure);
}
