#include "cli/base/progress.h"

#include "foundation/base/clock.h"

#include <stdarg.h>
#include <stdio.h>

#define FIRST_AFTER UINT64_C(1000000000)
#define AGAIN_AFTER UINT64_C(200000000)

void progress_start(struct progress *progress, bool wanted)
{
    uint64_t now = clock_ns();
    *progress = (struct progress){.wanted = wanted, .started = now, .next = now + FIRST_AFTER};
}

bool progress_due(struct progress *progress)
{
    if (!progress->wanted)
        return false;
    uint64_t now = clock_ns();
    if (now < progress->next)
        return false;
    progress->next = now + AGAIN_AFTER;
    return true;
}

double progress_seconds(const struct progress *progress)
{
    return (double)(clock_ns() - progress->started) / 1e9;
}

void progress_show(struct progress *progress, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\r', stderr); /* later output overwrites the line */
    fflush(stderr);
    va_end(arguments);
    progress->shown = true;
}

void progress_clear(struct progress *progress)
{
    if (!progress->shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress->shown = false;
}
