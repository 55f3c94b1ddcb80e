/* The transitive closure of a square bit matrix (lmdda.h). */
#include "foundation/gpu/kernels/detect/closure_tiles.h"

KERNEL_BOUNDED(bit_closure, struct bit_closure_arguments, BOOL_TILE_THREADS, 1)
{
    struct bit_closure_arguments closure = a;
    closure_steps(&closure);
}
