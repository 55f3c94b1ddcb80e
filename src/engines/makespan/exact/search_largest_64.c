/* The sweep through states told by sums and largest ones, with words of 64 bits: see largest.h. */
#include "engines/makespan/exact/search.h"

#include "engines/makespan/exact/largest.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

#define WORD_BITS 64
#define WORD      uint64_t
#define NAME(x)   x##_largest_64

#include "engines/makespan/exact/largest_body.h"

#include "engines/makespan/exact/hash_body.h"

#include "engines/makespan/exact/sweep_body.h"
