/* Progress line on the terminal. It appears after a second. It never appears if stderr is not a
 * terminal, or with --quiet.
 *
 *     if ((++count & 1023) == 0 && progress_due(&cli->progress))
 *         progress_show(&cli->progress, "%llu events", count); */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool wanted;
    bool shown;             /* a line is visible */
    uint64_t started, next; /* ns */
};

void progress_start(struct progress *progress, bool wanted);
/* Is it time for a new line? True a few times per second. */
bool progress_due(struct progress *progress);
double progress_seconds(const struct progress *progress);
void progress_show(struct progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Erases the line. Call it before other output to the terminal. */
void progress_clear(struct progress *progress);
