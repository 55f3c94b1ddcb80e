/* The search with words of 64 bits: see search.h. */
#include "makespan/search.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/sort.h"
#include "makespan/closer.h"

#include <string.h>

#define WORD_BITS 64
#define WORD      uint64_t
#define NAME(x)   x##_64

#include "makespan/expand_body.h"

#include "makespan/hash_body.h"

#include "makespan/dive_body.h"
#include "makespan/sweep_body.h"
