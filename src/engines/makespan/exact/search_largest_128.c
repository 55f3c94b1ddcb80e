/* The sweep through states told by sums and largest ones, with words of 128 bits: see largest.h. */
#include "engines/makespan/exact/search.h"

#include "engines/makespan/exact/largest.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

#define WORD_BITS 128
#define WORD      word_128
#define NAME(x)   x##_largest_128

__extension__ typedef unsigned __int128 word_128;

#include "engines/makespan/exact/largest_body.h"

#include "engines/makespan/exact/hash_body.h"

#include "engines/makespan/exact/sweep_body.h"
