/* The search with words of 128 bits: see search.h. */
#include "makespan/search.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/sort.h"
#include "makespan/closer.h"

#include <string.h>

#define WORD_BITS 128
#define WORD      word_128
#define NAME(x)   x##_128

__extension__ typedef unsigned __int128 word_128;

#include "makespan/expand_body.h"

#include "makespan/hash_body.h"

#include "makespan/dive_body.h"
#include "makespan/sweep_body.h"
