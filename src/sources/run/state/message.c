#include "sources/run/state/message.h"

#include "sources/run/state/system_call.h"
#include "sources/run/state/text.h"

#include <errno.h>

static void write_message(const char *before, const char *text)
{
    if (watch.quiet)
        return;
    char buffer[300];
    struct text line;
    text_open(&line, buffer, sizeof buffer);
    text_add_all(&line, before, text, "\n");
    sys_write(2, buffer, line.used);
}

void watch_note(const char *text)
{
    write_message("gordian: ", text);
}

void watch_refuse(const char *why)
{
    __atomic_fetch_add(&watch.tally->off, 1, __ATOMIC_RELAXED);
    write_message("gordian: not watching: ", why);
}

void watch_off(const char *why)
{
    uint32_t on = WATCH_ON;
    if (!atomic_compare_exchange_strong(&watch.state, &on, WATCH_OFF))
        return;
    int saved = errno;
    watch_refuse(why);
    errno = saved;
}
