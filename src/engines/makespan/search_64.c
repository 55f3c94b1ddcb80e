/* The search with words of 64 bits: see search.h. */
#include "engines/makespan/search.h"

#include "engines/makespan/closer.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/sort.h"

#include <string.h>

#define WORD_BITS 64
#define WORD      uint64_t
#define NAME(x)   x##_64

#include "engines/makespan/expand_body.h"

#include "engines/makespan/hash_body.h"

#include "engines/makespan/dive_body.h"
#include "engines/makespan/sweep_body.h"
