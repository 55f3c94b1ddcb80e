/* A line on the terminal that tells how far a long run has come. It shows
 * after a second, and never when stderr is no terminal or --quiet is given.
 *
 *     if ((++count & 1023) == 0 && progress_due(&cli->progress))
 *         progress_show(&cli->progress, "%llu events", count);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool wanted;
    bool shown;             /* a line stands on the terminal */
    uint64_t started, next; /* ns */
};

void progress_start(struct progress *progress, bool wanted);
/* Time for a new line? At most a few a second. */
bool progress_due(struct progress *progress);
double progress_seconds(const struct progress *progress);
void progress_show(struct progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Takes the line away: before anything else is written to the terminal. */
void progress_clear(struct progress *progress);
