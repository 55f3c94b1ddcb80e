/* Prints stacks for the text of a finding; used only by the text writer. */
#pragma once

#include "output/finding/finding.h"

struct page {
    const struct finding *finding;
    const struct finding_look *look;
    struct output *out;
};

/* Prints a stack, one frame per line, with the source line of the most relevant frame. */
void page_stack(const struct page *page, const struct stack *stack);
/* Prints the most relevant frame as "transfer (bank.c:31)". */
void page_place(const struct page *page, const struct stack *stack);
