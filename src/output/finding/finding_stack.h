/* Stacks in the text of a finding; used by the text writer only. */
#pragma once

#include "output/finding/finding.h"

struct page {
    const struct finding *finding;
    const struct finding_look *look;
    struct output *out;
};

/* Prints a stack, one frame a line, with the source line of the frame that matters. */
void page_stack(const struct page *page, const struct stack *stack);
/* Prints "transfer (bank.c:31)": the frame that matters, in a sentence. */
void page_place(const struct page *page, const struct stack *stack);
