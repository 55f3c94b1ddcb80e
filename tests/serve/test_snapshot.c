/* Snapshots of a large state: made while the service goes on answering, and what it comes back
 * from when it is killed, whatever the snapshot was doing at that moment. */
#include "running.h"
#include "test.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NAMES  25000 /* above FORK_NAMES of service/serve/server/snapshot.c */
#define KILLS  6
#define CHUNKS 50

static struct running service;
static FILE *in, *out;

static void open_streams(void)
{
    int fd = -1;
    for (int tries = 0; fd < 0 && tries < 12000; tries++) {
        fd = running_connect(&service);
        if (fd < 0)
            usleep(50000);
    }
    REQUIRE(fd >= 0);
    in = fdopen(fd, "r");
    out = fdopen(dup(fd), "w");
    REQUIRE(in && out);
}

static void close_streams(void)
{
    fclose(in);
    fclose(out);
}

/* The answer to a line. */
static const char *ask(const char *line)
{
    static char answer[1 << 20];
    fprintf(out, "%s\n", line);
    fflush(out);
    return fgets(answer, sizeof answer, in) ? answer : "";
}

static unsigned long number_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? strtoul(at + strlen(key), NULL, 10) : 0;
}

/* CHUNKS times 500 events; `next` goes on from call to call. */
static void send_events(unsigned long *next)
{
    static char answer[4096];
    for (unsigned chunk = 0; chunk < CHUNKS && !test_failed; chunk++) {
        for (unsigned i = 0; i < 500; i++, ++*next) {
            unsigned long p = *next / 2 % 500;
            fprintf(out, "%s p%lu q%lu\n", *next % 2 ? "release" : "request", p,
                    (*next / 1000 * 37 + p) % (NAMES - 100));
        }
        fflush(out);
        for (unsigned i = 0; i < 500; i++) {
            const char *text = fgets(answer, sizeof answer, in) ? answer : "";
            CHECK_MSG(strstr(text, "granted") || strstr(text, "released"), "%s", text);
        }
    }
}

/* How often its log has this text. */
static unsigned logged(const char *text)
{
    char path[200], line[1000];
    unsigned count = 0;
    snprintf(path, sizeof path, "%s/log", service.folder);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, text) != NULL;
    if (file)
        fclose(file);
    return count;
}

/* ------------------------------------------------------------------ quotas */

/* Connects, goes on with a session (or begins one), and finds it in `session`. */
static void enter(char session[64])
{
    char line[128];
    open_streams();
    snprintf(line, sizeof line, "hello %s%s lease=3600", session[0] ? "session=" : "", session);
    const char *answer = ask(line), *id = strstr(answer, "\"session\":\"");
    CHECK_MSG(id, "%s", answer);
    if (id)
        snprintf(session, 64, "%.*s", (int)strcspn(id + 11, "\""), id + 11);
}

/* Adds resources until it is told to stop; how many. */
static unsigned add_resources(unsigned *next)
{
    char line[64];
    for (unsigned count = 0; count < 100; count++) {
        fprintf(out, "resource r%u\n", (*next)++);
        const char *answer = ask("ping");
        if (strstr(answer, "\"code\":8")) {
            CHECK(fgets(line, sizeof line, in) && strstr(line, "pong"));
            return count;
        }
        CHECK_MSG(strstr(answer, "pong"), "%s", answer);
    }
    return 100;
}

/* A quota that was used up still is after a restart, however the service ended, by the journal and
 * by a snapshot; and is free again when the session is over. */
static void test_quotas(const char *program)
{
    static const char *const options[] = {"--max-resources", "7", NULL};
    static const int ends[] = {SIGKILL, SIGTERM, SIGKILL, SIGTERM};
    char session[64] = "";
    unsigned next = 0;
    setenv("GORDIAN_SNAPSHOT_BYTES", "100000000", 1); /* only when it ends in an orderly way */
    REQUIRE(running_start(&service, program, options));
    enter(session);
    CHECK(add_resources(&next) == 7);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        running_end(&service, ends[i]);
        close_streams();
        REQUIRE(running_again(&service));
        enter(session);
        CHECK(add_resources(&next) == 0);
    }
    CHECK(strstr(ask("quit"), "\"ok\":\"quit\""));
    close_streams();
    session[0] = '\0';
    enter(session);
    CHECK(add_resources(&next) == 7);
    close_streams();
    CHECK(running_stop(&service) == 0);
}

int main(int argc, char **argv)
{
    static const char *const options[] = {"--verbose", NULL};
    const char *scale = getenv("GORDIAN_TEST_SCALE");
    unsigned long next = 0, kills = KILLS * (scale ? strtoul(scale, NULL, 10) : 100) / 100;
    kills = kills < 2 ? 2 : kills;
    char line[64];
    REQUIRE(argc > 1);
    signal(SIGPIPE, SIG_IGN);
    setenv("GORDIAN_SNAPSHOT_BYTES", "20000", 1); /* again and again */
    REQUIRE(running_start(&service, argv[1], options));
    open_streams();
    ask("hello keep=yes");
    for (unsigned i = 0; i < NAMES; i++)
        fprintf(out, "resource q%u\n", i);
    CHECK(strstr(ask("ping"), "pong"));
    for (unsigned round = 0; round < kills && !test_failed; round++) {
        send_events(&next);
        snprintf(line, sizeof line, "request keeper%u q%u", round, NAMES - 1 - round);
        CHECK(strstr(ask(line), "granted"));
        running_end(&service, round % 3 == 2 ? SIGTERM : SIGKILL);
        close_streams();
        REQUIRE(running_again(&service));
        open_streams();
        /* a child that was about to close the old one's socket may have been who took the call */
        for (int tries = 0; !strstr(ask("hello keep=yes"), "session") && tries < 12000; tries++) {
            close_streams();
            usleep(50000);
            open_streams();
        }
        const char *state = ask("state");
        CHECK(number_of(state, "\"resources\":") == NAMES);
        CHECK_MSG(number_of(state, "\"events\":") == next + round + 1, "%lu events, not %lu",
                  number_of(state, "\"events\":"), next + round + 1);
        for (unsigned i = 0; i <= round; i++) {
            snprintf(line, sizeof line, "state q%u", NAMES - 1 - i);
            CHECK(strstr(ask(line), "\"free\":0"));
        }
    }
    if (test_failed)
        running_show_log(&service);
    CHECK(running_alive(&service));
    CHECK(logged("is writing a snapshot") >= kills && logged("no snapshot now") == 0);
    close_streams();
    CHECK(running_stop(&service) == 0);
    test_quotas(argv[1]);
    return test_done();
}
