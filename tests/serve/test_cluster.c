/* Three servers on one store of PostgreSQL, which GORDIAN_TEST_POSTGRES names: who leads, what the
 * others answer, clients that follow, the numbers of grants, handing over.
 *
 *     test-cluster GORDIAN
 */
#include "../test.h"
#include "heard.h"
#include "running.h"

#include <gordian/client.h>

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SERVERS 3

static struct running servers[SERVERS];
static char store[600];
static char told[SCRATCH_SIZE + 10]; /* file that --on-deadlock writes */
static char held[SCRATCH_SIZE + 10]; /* while it is there, nothing is told */

/* ------------------------------------------------------------------ by hand */

/* What a server answers to a line, up to the line that has `wanted`; "" if none does. */
static void ask_line(const struct running *server, const char *line, const char *wanted,
                     char *answer, size_t size)
{
    char text[8192];
    size_t used = 0;
    answer[0] = '\0';
    int fd = running_connect(server);
    if (fd < 0)
        return;
    /* One that starts anew may have closed it already. */
    bool sent = send(fd, line, strlen(line), MSG_NOSIGNAL) == (ssize_t)strlen(line);
    while (sent && used < sizeof text - 1 && !*answer) {
        ssize_t got = recv(fd, text + used, sizeof text - 1 - used, 0);
        if (got <= 0)
            break;
        used += (size_t)got;
        text[used] = '\0';
        const char *found = strstr(text, wanted);
        const char *end = found ? strchr(found, '\n') : NULL;
        if (end) {
            while (found > text && found[-1] != '\n')
                found--;
            snprintf(answer, size, "%.*s", (int)(end - found), found);
        }
    }
    close(fd);
}

/* Which of those that run leads; it is waited for. */
static int find_leader(void)
{
    char answer[1000];
    for (int tries = 0; tries < 12000; tries++) {
        for (int i = 0; i < SERVERS; i++) {
            if (servers[i].pid <= 0)
                continue;
            ask_line(&servers[i], "hello\n", "\"", answer, sizeof answer);
            if (strstr(answer, "\"session\""))
                return i;
        }
        usleep(10000);
    }
    REQUIRE(!"somebody leads");
    return -1;
}

static uint64_t number_in(const char *answer, const char *key)
{
    const char *at = strstr(answer, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* ------------------------------------------------------------------ tests */

/* Who stands by reads and says who leads. */
static void test_standing_by(int leader)
{
    char answer[4000], expected[200];
    const struct running *other = &servers[(leader + 1) % SERVERS];
    ask_line(other, "resource r 1\n", "\"error\"", answer, sizeof answer);
    snprintf(expected, sizeof expected, "the leader is %s\"", servers[leader].uri);
    CHECK_MSG(strstr(answer, expected) && strstr(answer, "\"code\":18"), "%s", answer);
    ask_line(other, "hello lease=5\n", "\"error\"", answer, sizeof answer);
    CHECK_MSG(strstr(answer, "\"code\":18"), "%s", answer);
    ask_line(other, "subscribe all\n", "\"error\"", answer, sizeof answer); /* it tells nobody */
    CHECK_MSG(strstr(answer, "\"code\":18"), "%s", answer);
    ask_line(other, "stats\n", "\"stats\"", answer, sizeof answer);
    CHECK_MSG(strstr(answer, "\"sessions\""), "%s", answer);
    /* What the leader has committed is soon here. */
    ask_line(&servers[leader], "resource seen 3\nstate seen\n", "\"units\":3", answer,
             sizeof answer);
    CHECK_MSG(*answer, "%s", "no state of a resource");
    for (int tries = 0; tries < 12000; tries++) {
        ask_line(other, "state seen\n", "{", answer, sizeof answer);
        if (strstr(answer, "\"units\":3"))
            break;
        usleep(5000);
    }
    CHECK_MSG(strstr(answer, "\"units\":3"), "%s", answer);
}

static void test_fences_in_lines(int leader)
{
    char answer[2000];
    ask_line(&servers[leader],
             "hello fences=yes\nresource line 1\nrequest me line\nrelease me line\n", "\"granted\"",
             answer, sizeof answer);
    uint64_t first = number_in(answer, "\"fence\":");
    CHECK_MSG(first > 0, "%s", answer);
    ask_line(&servers[leader], "hello fences=yes\nrequest you line\nrelease you line\n",
             "\"granted\"", answer, sizeof answer);
    CHECK_MSG(number_in(answer, "\"fence\":") > first, "%s", answer);
    ask_line(&servers[leader], "hello\nrequest he line\nrelease he line\n", "\"granted\"", answer,
             sizeof answer);
    CHECK(*answer && !strstr(answer, "fence"));
}

static gordian_client *open_client(const char *uri, const char *name)
{
    gordian_client_options options;
    gordian_client *client;
    gordian_error error = {0};
    gordian_client_options_init(&options);
    options.lease_ms = 600000;
    options.timeout_ms = 120000;
    options.name = name;
    gordian_status status = gordian_client_open(&client, uri, &options, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s: %s", uri, error.message);
    REQUIRE(status == GORDIAN_OK);
    return client;
}

/* A holder, and one who waits, through the death of the leader: the numbers grow, nothing is lost.
 */
static void test_follow(int leader)
{
    char uri[500];
    gordian_error error = {0};
    gordian_reply reply = {0};
    uint32_t table, a, b;
    snprintf(uri, sizeof uri, "%s,%s,%s", servers[(leader + 1) % SERVERS].uri,
             servers[(leader + 2) % SERVERS].uri, servers[leader].uri);
    gordian_client *holder = open_client(uri, "holder");
    /* This one is told who leads, and has never heard of it. */
    gordian_client *waiter = open_client(servers[(leader + 1) % SERVERS].uri, "waiter");
    CHECK(gordian_client_fence(holder) > 0); /* of lines before */
    CHECK(!gordian_client_add_resource(holder, "table", 1, &table, &error));
    CHECK(!gordian_client_add_process(holder, "a", &a, &error));
    CHECK(!gordian_client_add_process(waiter, "b", &b, &error));
    CHECK(!gordian_client_request(holder, a, table, 1, &reply, &error));
    CHECK(reply.outcome == GORDIAN_OUTCOME_GRANTED && reply.fence > 0);
    uint64_t first = gordian_client_fence(holder);
    CHECK(first >= reply.fence);
    CHECK(!gordian_client_request(waiter, b, table, 1, &reply, &error));
    CHECK(reply.outcome == GORDIAN_OUTCOME_BLOCKED && reply.waits);
    running_end(&servers[leader], SIGKILL);
    gordian_status status = gordian_client_release(holder, a, table, 1, &reply, &error);
    CHECK_MSG(status == GORDIAN_OK && reply.outcome == GORDIAN_OUTCOME_RELEASED, "%s",
              error.message);
    status = gordian_client_wait_granted(waiter, b, 120000, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    CHECK(gordian_client_fence(waiter) > first);
    CHECK(running_again(&servers[leader]));
    gordian_client_close(waiter);
    gordian_client_close(holder);
}

/* Who has subscribed goes on being told by whoever leads, and knows what it missed meanwhile. */
static void test_subscribed(void)
{
    char uri[500];
    struct hearer all = {0}, nothing = {0};
    int leader = find_leader();
    snprintf(uri, sizeof uri, "%s,%s,%s", servers[0].uri, servers[1].uri, servers[2].uri);
    gordian_client *one = heard_client(uri, &all, GORDIAN_MY_GRANTS | GORDIAN_ALL_EVENTS);
    gordian_client *speaker = heard_client(uri, &nothing, GORDIAN_MY_GRANTS);
    heard_say(speaker);
    heard_wait(one, &all, 2, 0);
    running_end(&servers[leader], SIGKILL);
    heard_say(speaker);
    heard_wait(one, &all, 4, 1);
    CHECK(running_again(&servers[leader]));
    leader = find_leader();
    kill(servers[leader].pid, SIGUSR2);
    for (int tries = 0; tries < 1000 && find_leader() == leader; tries++)
        usleep(10000);
    heard_say(speaker);
    heard_wait(one, &all, 6, 2);
    /* if the lead goes once more meanwhile, that is another gap */
    for (unsigned tries = 0, known = all.events; tries < 100 && all.events == known; tries++) {
        uint64_t next = all.at + 2;
        heard_say(speaker);
        heard_wait(one, &all, next, 2);
    }
    CHECK_MSG(all.events > 2 && all.unsaid == 0 && nothing.gaps == 0, "%u events", all.events);
    gordian_client_close(speaker);
    gordian_client_close(one);
}

/* Up to where it hangs up: the last line. */
static void read_last(int fd, char *line, size_t size)
{
    char text[8192];
    size_t used = 0;
    for (ssize_t got;
         used < sizeof text - 1 && (got = recv(fd, text + used, sizeof text - 1 - used, 0)) > 0;)
        used += (size_t)got;
    text[used - (used > 0)] = '\0';
    const char *end = strrchr(text, '\n');
    snprintf(line, size, "%s", end ? end + 1 : text);
}

static void test_hand_over(const char *gordian)
{
    char command[2000], said[600] = "", expected[200];
    int leader = find_leader(), fd = running_connect(&servers[leader]);
    REQUIRE(fd >= 0 && send(fd, "hello\n", 6, MSG_NOSIGNAL) == 6);
    REQUIRE(recv(fd, said, 1, 0) == 1);
    snprintf(command, sizeof command,
             "'%s' serve --store \"%s\" --store-schema cluster_test --hand-over", gordian, store);
    FILE *pipe = popen(command, "r");
    REQUIRE(pipe != NULL);
    CHECK(fgets(said, sizeof said, pipe) != NULL);
    CHECK_MSG(pclose(pipe) == 0, "%s", said);
    snprintf(expected, sizeof expected,
             "%s has handed leadership over to unix:", servers[leader].uri);
    CHECK_MSG(strncmp(said, expected, strlen(expected)) == 0, "%s, not %s", said, expected);
    /* its clients are told to go elsewhere */
    read_last(fd, said, sizeof said);
    CHECK_MSG(strstr(said, "\"code\":18"), "%s", said);
    close(fd);
    int other = find_leader();
    CHECK(other != leader);
    kill(servers[other].pid, SIGUSR2);
    for (int tries = 0; tries < 1000 && find_leader() == other; tries++)
        usleep(10000);
    CHECK(find_leader() != other);
}

/* Of how many deadlocks --on-deadlock was told that they began, or ended. */
static unsigned times_told(const char *event)
{
    static char all[1 << 18];
    char text[80];
    bool seen[1000] = {0};
    unsigned count = 0;
    snprintf(text, sizeof text, "{\"event\":\"%s\",\"deadlock\":{\"id\":", event);
    FILE *file = fopen(told, "r");
    size_t size = file ? fread(all, 1, sizeof all - 1, file) : 0;
    if (file)
        fclose(file);
    all[size] = '\0';
    for (const char *at = all; (at = strstr(at, text)); at++) {
        uint64_t id = number_in(at, text);
        REQUIRE(id < 1000);
        count += !seen[id];
        seen[id] = true;
    }
    return count;
}

static void make_deadlock(int leader, unsigned number)
{
    char lines[400], answer[4000];
    snprintf(lines, sizeof lines,
             "resource a%u\nresource b%u\nrequest x%u a%u\nrequest y%u b%u\nrequest x%u b%u\n"
             "request y%u a%u\n",
             number, number, number, number, number, number, number, number, number, number);
    ask_line(&servers[leader], lines, "\"deadlock\"", answer, sizeof answer);
    CHECK(*answer);
}

static void await_told(unsigned count)
{
    for (int tries = 0;
         tries < 12000 && (times_told("began") < count || times_told("ended") < count); tries++)
        usleep(10000);
    CHECK_MSG(times_told("began") == count && times_told("ended") == count, "%u, %u of %u",
              times_told("began"), times_told("ended"), count);
}

/* Every deadlock is told, by the one that led when it was kept, or by the next if that hands over
 * before it has told them all. */
static void test_told(void)
{
    enum { BEFORE = 5 };
    int leader = find_leader();
    for (unsigned i = 0; i < BEFORE; i++)
        make_deadlock(leader, i);
    kill(servers[leader].pid, SIGUSR2);
    /* if the others have handed over just before, it may be the next one, too: 3 s later */
    for (int tries = 0; tries < 500 && find_leader() == leader; tries++)
        usleep(10000);
    make_deadlock(find_leader(), BEFORE);
    await_told(BEFORE + 1);
}

/* What a leader had kept and not told when it was killed, the next one tells. */
static void test_killed(void)
{
    unsigned first = times_told("began");
    int leader = find_leader(), fd = open(held, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0);
    close(fd);
    make_deadlock(leader, 100);
    make_deadlock(leader, 101);
    running_end(&servers[leader], SIGKILL);
    CHECK(times_told("began") == first);
    unlink(held);
    await_told(first + 2);
    CHECK(running_again(&servers[leader]));
}

/* `gordian incidents` finds in the database what was told. */
static void test_history(const char *gordian)
{
    char command[2000], line[4000];
    unsigned count = 0;
    snprintf(command, sizeof command,
             "'%s' incidents --store \"%s\" --store-schema cluster_test --ended --json", gordian,
             store);
    FILE *pipe = popen(command, "r");
    REQUIRE(pipe != NULL);
    while (fgets(line, sizeof line, pipe))
        count += strstr(line, "\"how\":\"lost\"") != NULL;
    int code = pclose(pipe);
    CHECK_MSG(WIFEXITED(code) && WEXITSTATUS(code) == 1, "%d", code);
    CHECK_MSG(count == times_told("ended") && count > 0, "%u", count);
    snprintf(command, sizeof command, "'%s' incidents --store \"%s\" --store-schema none 2>&1",
             gordian, store);
    pipe = popen(command, "r");
    REQUIRE(pipe != NULL);
    CHECK(fgets(line, sizeof line, pipe) != NULL);
    CHECK_MSG(WEXITSTATUS(pclose(pipe)) > 1 && !strstr(line, "hush"), "%s", line);
}

/* The process list does not show the password, nor does the log. */
static void test_password(const struct running *server)
{
    char path[200], text[4000];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)server->pid);
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(path, "r");
        REQUIRE(file != NULL);
        size_t size = fread(text, 1, sizeof text - 1, file);
        fclose(file);
        for (size_t j = 0; j < size; j++)
            text[j] = text[j] ? text[j] : ' ';
        text[size] = '\0';
        CHECK_MSG(!strstr(text, "hush"), "%s", text);
        snprintf(path, sizeof path, "%s/log", server->folder);
    }
}

int main(int argc, char **argv)
{
    const char *database = getenv("GORDIAN_TEST_POSTGRES");
    REQUIRE(argc == 2 && database);
    signal(SIGPIPE, SIG_IGN);
    snprintf(store, sizeof store, "%s password=hush", database);
    char folder[SCRATCH_SIZE], command[2 * SCRATCH_SIZE + 200];
    REQUIRE(scratch_make(folder, "cluster"));
    snprintf(told, sizeof told, "%s/told", folder);
    snprintf(held, sizeof held, "%s/held", folder);
    /* whose server is gone tells nothing */
    snprintf(command, sizeof command,
             "while [ -e '%s' ]; do sleep 0.05; done; kill -0 $PPID && cat >> '%s' && sleep 0.2",
             held, told);
    const char *const more[] = {"--store", store, "--store-schema", "cluster_test", "--on-deadlock",
                                command,   NULL};
    for (int i = 0; i < SERVERS; i++)
        REQUIRE(running_start(&servers[i], argv[1], more));
    int leader = find_leader();
    test_standing_by(leader);
    test_fences_in_lines(leader);
    test_follow(leader);
    test_subscribed();
    test_hand_over(argv[1]);
    test_told();
    test_killed();
    test_history(argv[1]);
    test_password(&servers[0]);
    if (test_failed)
        for (int i = 0; i < SERVERS; i++)
            running_show_log(&servers[i]);
    for (int i = 0; i < SERVERS; i++)
        CHECK(running_stop(&servers[i]) == 0);
    CHECK(times_told("began") == times_told("ended"));
    unlink(told);
    rmdir(folder);
    return test_done();
}
