/* The log's queue: whoever logs never waits, whatever the descriptor does. */
#include "service/serve/server/log.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES 5000 /* of 100 bytes: more than the queue and the pipe have room for */

/* Reads until there have been `lines` lines, or the end. To be freed. */
static char *read_lines(int fd, size_t lines)
{
    size_t room = 1 << 20, used = 0, found = 0;
    char *text = malloc(room);
    REQUIRE(text);
    while (found < lines && used < room - 1) {
        ssize_t count = read(fd, text + used, room - 1 - used);
        if (count <= 0)
            break;
        for (ssize_t i = 0; i < count; i++)
            found += text[used + (size_t)i] == '\n';
        used += (size_t)count;
    }
    text[used] = '\0';
    return text;
}

static void put_number(struct log_queue *queue, unsigned number)
{
    char line[101];
    snprintf(line, sizeof line, "%-99u|", number);
    log_put(queue, line, strlen(line));
}

/* Lines come out whole and in their order. */
static void lines_are_written(void)
{
    struct log_queue *queue;
    int ends[2];
    REQUIRE(pipe(ends) == 0 && !log_open(&queue, ends[1], "test: ", NULL));
    static char longest[2 * LOG_LINE_MAX];
    memset(longest, 'x', sizeof longest);
    put_number(queue, 1);
    log_put(queue, longest, sizeof longest);
    put_number(queue, 2);
    char *text = read_lines(ends[0], 3);
    CHECK(text[0] == '1' && strspn(text + 101, "x") == LOG_LINE_MAX);
    CHECK(text[101 + LOG_LINE_MAX + 1] == '2');
    CHECK(log_dropped(queue) == 0);
    free(text);
    log_close(queue, 10000);
    close(ends[0]);
    close(ends[1]);
}

/* A pipe that nothing reads: lines are dropped, and the number of those is reported when it is read
 * again. */
static void full_pipe_drops(void)
{
    struct log_queue *queue;
    int ends[2];
    REQUIRE(pipe(ends) == 0 && !log_open(&queue, ends[1], "test: ", NULL));
    for (unsigned i = 0; i < LINES; i++)
        put_number(queue, i);
    uint64_t dropped = log_dropped(queue);
    CHECK(dropped > 0 && dropped < LINES);
    char *text = read_lines(ends[0], LINES - (size_t)dropped + 1), report[100], *found;
    snprintf(report, sizeof report, "test: %llu log lines were dropped",
             (unsigned long long)dropped);
    found = strstr(text, report);
    CHECK_MSG(found != NULL, "%.100s", text + strlen(text) - 100);
    long last = -1;
    bool ordered = true;
    for (size_t i = 0; found && i < LINES - dropped; i++) {
        long number = strtol(text + i * 101, NULL, 10);
        ordered &= number > last && text[i * 101 + 99] == '|';
        last = number;
    }
    CHECK(ordered && last >= 0);
    free(text);
    log_close(queue, 10000);
    close(ends[0]);
    close(ends[1]);
}

/* What the queue has is written at the end, if it can be; otherwise it ends all the same. */
static void end_is_bounded(bool readable)
{
    struct log_queue *queue;
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    if (!readable) {
        char page[4096] = {0};
        fcntl(ends[1], F_SETFL, O_NONBLOCK);
        while (write(ends[1], page, sizeof page) > 0)
            ;
        fcntl(ends[1], F_SETFL, 0);
    }
    REQUIRE(!log_open(&queue, ends[1], "test: ", NULL));
    for (unsigned i = 0; i < 100; i++)
        put_number(queue, i);
    log_close(queue, readable ? 10000 : 1);
    close(ends[1]);
    char *text = read_lines(ends[0], LINES);
    CHECK((strlen(text) == 100u * 101) == readable);
    free(text);
    close(ends[0]);
}

int main(void)
{
    lines_are_written();
    full_pipe_drops();
    end_is_bounded(true);
    end_is_bounded(false);
    return test_done();
}
