/* For calls of the library that a test cannot go on without. */
#ifndef GORDIAN_TESTS_MUST_H
#define GORDIAN_TESTS_MUST_H

#include "foundation/base/error.h"
#include "test.h"

static inline void must(gordian_status status, const gordian_error *error)
{
    if (status != GORDIAN_OK)
        fprintf(stderr, "%s\n", error->message);
    REQUIRE(status == GORDIAN_OK);
}

#endif
