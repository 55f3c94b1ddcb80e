/* The search with words of 64 bits: see search.h. */
#include "engines/makespan/exact/search.h"

#include "engines/makespan/exact/candidates.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/sort.h"

#include <string.h>

#define WORD_BITS 64
#define WORD      uint64_t
#define NAME(x)   x##_64

#include "engines/makespan/exact/expand_body.h"

#include "engines/makespan/exact/hash_body.h"

#include "engines/makespan/exact/depth_first_body.h"
#include "engines/makespan/exact/sweep_body.h"
