/* gordian makespan --log: the improvements of each chain (simulated annealing) and their times; a
 * table, or objects with --json. */
#include "cli/makespan/makespan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int makespan_log_open(struct makespan_log *log, struct makespan *makespan)
{
    *log = (struct makespan_log){.makespan = makespan, .fd = -1};
    if (!makespan->log)
        return EXIT_NOTHING;
    log->out = &makespan->cli->out;
    if (strcmp(makespan->log, "-") != 0) {
        log->fd = open(makespan->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (log->fd < 0 || !output_open(&log->file, log->fd)) {
            cli_say(makespan->cli, "cannot write '%s': %s", makespan->log,
                    strerror(log->fd < 0 ? errno : ENOMEM));
            if (log->fd >= 0)
                close(log->fd);
            return EXIT_BROKEN;
        }
        log->out = &log->file;
    }
    if (!makespan->cli->json)
        output_text(log->out, "seconds,own_seconds,instance,start,iteration,cycles\n");
    return EXIT_NOTHING;
}

/* Improvements of the exact search belong to no chain. */
static const char *start_of(const gordian_makespan_improvement *found)
{
    return found->start == GORDIAN_MAKESPAN_START_ALL ? "search"
                                                      : gordian_makespan_start_text(found->start);
}

void makespan_log_line(struct makespan_log *log, const gordian_makespan_improvement *found)
{
    struct json json;
    if (!log->makespan->cli->json) {
        output_format(log->out, "%.6f,%.6f,%llu,%s,%llu,%u\n", found->seconds, found->chain_seconds,
                      (unsigned long long)found->chain + 1, start_of(found),
                      (unsigned long long)found->step, found->value);
        output_flush(log->out);
        return;
    }
    json_begin(&json, log->out);
    json_key_number(&json, "seconds", found->seconds);
    json_key_number(&json, "own_seconds", found->chain_seconds);
    json_key_u64(&json, "instance", found->chain + 1);
    json_key_text(&json, "start", start_of(found));
    json_key_u64(&json, "iteration", found->step);
    json_key_u64(&json, "cycles", found->value);
    json_end(&json);
    output_flush(log->out); /* rare, and the log may be watched */
}

int makespan_log_close(struct makespan_log *log)
{
    if (log->fd < 0)
        return EXIT_NOTHING;
    int failure = output_close(&log->file) ? 0 : log->file.failure;
    if (close(log->fd) < 0 && !failure)
        failure = errno;
    if (!failure)
        return EXIT_NOTHING;
    return cli_cannot_write(log->makespan->cli, log->makespan->log, failure);
}
