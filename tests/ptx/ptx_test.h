/* What the tests of PTX share: a program from text, a question asked, what came out. */
#ifndef GORDIAN_TESTS_PTX_TEST_H
#define GORDIAN_TESTS_PTX_TEST_H

#include "ptx/ptx.h"
#include "test.h"

#include <string.h>

/* Everything in between is made and freed; the answer is the caller's. */
static inline gordian_status ask(const char *code, const struct ptx_question *question,
                                 const gordian_allocator *memory, struct ptx_answer *answer,
                                 gordian_error *error)
{
    struct text text;
    struct ptx *ptx = NULL;
    struct ptx_table *table = NULL;
    struct ptx_question whole = *question;
    gordian_status status = text_copy(&text, "test.ptx", code, strlen(code), memory, error);
    if (status != GORDIAN_OK)
        return status;
    status = ptx_table_open(&table, memory, error);
    if (status == GORDIAN_OK)
        status = ptx_read(&ptx, &text, memory, error);
    if (status == GORDIAN_OK) {
        whole.table = table;
        status = ptx_string(answer, ptx, &whole, memory, error);
    }
    ptx_free(ptx);
    ptx_table_close(table);
    text_free(&text);
    return status;
}

#endif
