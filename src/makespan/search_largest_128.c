/* The sweep through states told by sums and largest ones, with words of 128 bits: see largest.h. */
#include "makespan/search.h"

#include "base/error.h"
#include "base/memory.h"
#include "makespan/largest.h"

#include <string.h>

#define WORD_BITS 128
#define WORD      word_128
#define NAME(x)   x##_largest_128

__extension__ typedef unsigned __int128 word_128;

#include "makespan/largest_body.h"

#include "makespan/hash_body.h"

#include "makespan/sweep_body.h"
