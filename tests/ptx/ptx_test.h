/* What the tests of PTX share: a program from text, a question asked, what came out. */
#ifndef GORDIAN_TESTS_PTX_TEST_H
#define GORDIAN_TESTS_PTX_TEST_H

#include "test.h"

#include <gordian/ptx.h>
#include <string.h>

/* The module is the caller's while it uses the answer; on failure it is NULL. */
static inline gordian_status ask(const char *code, const gordian_ptx_question *question,
                                 const gordian_allocator *memory, gordian_ptx **ptx,
                                 gordian_ptx_answer *answer, gordian_error *error)
{
    gordian_status status = gordian_ptx_open(ptx, code, strlen(code), memory, error);
    if (status == GORDIAN_OK)
        status = gordian_ptx_ask(*ptx, question, answer, error);
    if (status != GORDIAN_OK) {
        gordian_ptx_close(*ptx);
        *ptx = NULL;
    }
    return status;
}

#endif
