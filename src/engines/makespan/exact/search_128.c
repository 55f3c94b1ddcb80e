/* The search with words of 128 bits: see search.h. */
#include "engines/makespan/exact/search.h"

#include "engines/makespan/exact/candidates.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/sort.h"

#include <string.h>

#define WORD_BITS 128
#define WORD      word_128
#define NAME(x)   x##_128

__extension__ typedef unsigned __int128 word_128;

#include "engines/makespan/exact/expand_body.h"

#include "engines/makespan/exact/hash_body.h"

#include "engines/makespan/exact/depth_first_body.h"
#include "engines/makespan/exact/sweep_body.h"
