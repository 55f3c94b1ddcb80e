/* Lines of a report for a person: stacks, source, locks. Used by text.c only. */
#pragma once

#include "output/report/report.h"

struct page {
    const struct report *report;
    const struct report_look *look;
    struct output *out;
};

/* A stack, one frame a line, with the source line of the frame that matters. */
void page_stack(const struct page *page, const struct stack *stack);
/* "transfer (bank.c:31)": the frame that matters, in a sentence. */
void page_place(const struct page *page, const struct stack *stack);

void page_thread(const struct page *page, uint32_t thread);
void page_lock(const struct page *page, uint32_t lock);
