/* Deadlocks drawn so that a person sees them.
 *
 *     ╭─▶ cal ── waits for ─▶ fork-0 ─╮
 *     │   ann ◀─ held by ─────────────╯
 *     │   ╰───── waits for ─▶ fork-1 ─╮
 *     │   bob ◀─ held by ─────────────╯
 *     │   ╰───── waits for ─▶ fork-2 ─╮
 *     ╰───────── held by ─────────────╯
 *
 * and, where requests want several units or resources at once:
 *
 *     p0 ── waits for ─▶ q1 ×2 ── held by ─▶ p1 ×2, p3
 *     ╰──── and for ───▶ q2 ───── held by ─▶ p3
 */
#pragma once

#include "output/show/graph.h"
#include "output/show/style.h"

struct drawing {
    struct style style;
    struct output *out;
    const struct labels *labels;
    bool whole; /* do not abbreviate */
};

/* Draws the waits of `first` first. False: out of memory. */
bool draw_witness(const struct drawing *drawing, const gordian_witness *witness, uint32_t first);

/* Prints "ann, bob, cal", or the first few and " and 93 more". */
void draw_names(const struct drawing *drawing, const struct name_list *list);
/* Returns how many names draw_names prints at most. */
size_t draw_names_limit(const struct drawing *drawing);
