/* The sweep through states told by sums and largest ones, with words of 64 bits: see largest.h. */
#include "makespan/search.h"

#include "base/error.h"
#include "base/memory.h"
#include "makespan/largest.h"

#include <string.h>

#define WORD_BITS 64
#define WORD      uint64_t
#define NAME(x)   x##_largest_64

#include "makespan/largest_body.h"

#include "makespan/hash_body.h"

#include "makespan/sweep_body.h"
