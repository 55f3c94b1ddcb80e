/* Hard use of a real service: malformed, oversized, half-sent and slow messages in both forms,
 * floods, a crowd. Whatever one client does, the service lives and serves the others. */
#define _GNU_SOURCE
#include "foundation/base/random.h"
#include "running.h"
#include "service/wire/wire.h"
#include "test.h"

#include <gordian/client.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static struct running service;
static gordian_client *witness; /* a client that behaves */
static uint32_t witness_process, witness_resource;
static gordian_error error;

/* ------------------------------------------------------------------ the others */

/* The service lives, and answers somebody else as ever. */
static void check_service(const char *after)
{
    gordian_reply reply;
    CHECK_MSG(running_alive(&service), "the service died of: %s", after);
    gordian_status status =
        gordian_client_request(witness, witness_process, witness_resource, 1, &reply, &error);
    CHECK_MSG(status == GORDIAN_OK && reply.outcome == GORDIAN_OUTCOME_GRANTED, "after %s: %s",
              after, error.message);
    status = gordian_client_release(witness, witness_process, witness_resource, 1, &reply, &error);
    CHECK_MSG(status == GORDIAN_OK && reply.outcome == GORDIAN_OUTCOME_RELEASED, "after %s: %s",
              after, error.message);
}

/* ------------------------------------------------------------------ raw conversations */

static bool push(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count > 0) {
        ssize_t done = send(fd, at, count, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false; /* it hung up, which may be the answer */
        at += done;
        count -= (size_t)done;
    }
    return true;
}

/* Everything until it hangs up, `enough` bytes are there, or nothing comes; the number of bytes.
 * *ended: it hung up. */
static size_t pull(int fd, char *to, size_t room, size_t enough, bool *ended)
{
    size_t used = 0;
    *ended = false;
    while (used < room && used < enough) {
        ssize_t count = recv(fd, to + used, room - used, 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            *ended = count == 0 || errno == ECONNRESET;
            break;
        }
        used += (size_t)count;
    }
    return used;
}

struct bytes {
    unsigned char data[4096];
    size_t used;
};

static void add(struct bytes *bytes, const void *what, size_t count)
{
    REQUIRE(bytes->used + count <= sizeof bytes->data);
    memcpy(bytes->data + bytes->used, what, count);
    bytes->used += count;
}

static struct bytes greeting(void)
{
    struct bytes bytes = {.used = 0};
    struct wire_hello hello = {.name = {"test", 4}};
    add(&bytes, WIRE_START, WIRE_START_SIZE);
    bytes.used += wire_put_hello(bytes.data + bytes.used, sizeof bytes.data - bytes.used, &hello);
    return bytes;
}

/* A greeting and a few good commands, one of each kind. */
static struct bytes conversation(void)
{
    struct bytes bytes = greeting();
    unsigned char *at = bytes.data + bytes.used;
    size_t room = sizeof bytes.data - bytes.used;
    struct wire_declaration names[] = {
        {.what = WIRE_RESOURCE, .name = {"rq", 2}, .units = 1},
        {.what = WIRE_PROCESS, .name = {"rp", 2}},
    };
    size_t used = wire_put_name(at, room, WIRE_USE, (struct wire_text){"default", 7});
    used += wire_put_declare(at + used, room - used, names, 2);
    used += wire_put_u8(at + used, room - used, WIRE_SUBSCRIBE, WIRE_MY_GRANTS);
    gordian_event events[2] = {
        {.op = GORDIAN_OP_REQUEST, .process = 1, .resource = 1, .units = 1, .to = GORDIAN_NONE},
        {.op = GORDIAN_OP_RELEASE, .process = 1, .resource = 1, .units = 1, .to = GORDIAN_NONE},
    };
    used += wire_put_events(at + used, room - used, 1, events, 2);
    used += wire_put_ask(at + used, room - used, &events[0]);
    used += wire_put_u32(at + used, room - used, WIRE_STATE, 1);
    used += wire_put_u64(at + used, room - used, WIRE_PING, 7);
    bytes.used += used;
    return bytes;
}

/* The kind of the last whole frame in what came; 0: none. */
static unsigned last_kind(const char *bytes, size_t count)
{
    unsigned kind = 0;
    struct wire_frame frame;
    size_t used;
    while (wire_next(bytes, count, WIRE_ANSWER_MAX, &frame, &used) == WIRE_WHOLE) {
        kind = frame.kind;
        bytes += used;
        count -= used;
    }
    return kind;
}

/* ------------------------------------------------------------------ malformed frames */

/* After a good greeting: the answer must be an error, and then the end. */
static void check_fatal(const char *what, const void *bytes, size_t count)
{
    char answer[4096];
    bool ended;
    struct bytes start = greeting();
    int fd = running_connect(&service);
    REQUIRE(fd >= 0);
    push(fd, start.data, start.used);
    push(fd, bytes, count);
    size_t used = pull(fd, answer, sizeof answer, sizeof answer, &ended);
    CHECK_MSG(ended && last_kind(answer, used) == WIRE_ERROR, "%s: ended %d, last answer %u", what,
              ended, last_kind(answer, used));
    close(fd);
    check_service(what);
}

static void test_malformed(void)
{
    unsigned char frame[64];
    check_fatal("a frame of no size", "\0\0\0\0\0\0\0\0", 8);
    check_fatal("a frame of 4 GiB", "\xff\xff\xff\xff\5", 5);
    check_fatal("a frame above the limit", "\1\0\x10\0\5", 5);
    check_fatal("an unknown kind", "\1\0\0\0\x7f", 5);
    check_fatal("an answer's kind", "\1\0\0\0\x43", 5);
    for (unsigned kind = WIRE_HELLO; kind <= WIRE_LABEL; kind++) {
        if (kind == WIRE_BYE || kind == WIRE_PING)
            continue;
        size_t size = wire_put_frame(frame, sizeof frame, (uint8_t)kind, "", 0);
        char what[40];
        snprintf(what, sizeof what, "kind %u without a body", kind);
        check_fatal(what, frame, size);
    }
    /* counts that promise more than there is */
    size_t size =
        wire_put_frame(frame, sizeof frame, WIRE_EVENTS, "\1\0\0\0\0\0\0\0\xff\xff\xff\xff", 12);
    check_fatal("four billion events", frame, size);
    size = wire_put_frame(frame, sizeof frame, WIRE_DECLARE, "\xff\xff\xff\xff", 4);
    check_fatal("four billion declarations", frame, size);
    size = wire_put_frame(frame, sizeof frame, WIRE_EVENTS,
                          "\1\0\0\0\0\0\0\0\1\0\0\0\1\0\xff\xff\0\0\0\0", 20);
    check_fatal("an event with wants that are not there", frame, size);
    size = wire_put_frame(frame, sizeof frame, WIRE_EVENTS,
                          "\1\0\0\0\0\0\0\0\1\0\0\0\x63\0\0\0\0\0\0\0", 20);
    check_fatal("an operation that is none", frame, size);
}

/* What does not begin as it should. */
static void test_bad_start(void)
{
    static const struct {
        const char *bytes;
        size_t count;
    } starts[] = {{"\0XYZ\1\0\0\0", 8}, {"\0GRD\2\0\0\0", 8}, {"\0GRD\1\0\0\1", 8}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        char answer[512];
        bool ended;
        int fd = running_connect(&service);
        REQUIRE(fd >= 0);
        push(fd, starts[i].bytes, starts[i].count);
        pull(fd, answer, sizeof answer, sizeof answer, &ended);
        CHECK_MSG(ended, "start %zu", i);
        close(fd);
        check_service("a bad start");
    }
    /* commands before HELLO */
    unsigned char bytes[64];
    char answer[512];
    bool ended;
    memcpy(bytes, WIRE_START, WIRE_START_SIZE);
    size_t size = WIRE_START_SIZE + wire_put_u32(bytes + WIRE_START_SIZE,
                                                 sizeof bytes - WIRE_START_SIZE, WIRE_STATE, 0);
    int fd = running_connect(&service);
    push(fd, bytes, size);
    size_t used = pull(fd, answer, sizeof answer, sizeof answer, &ended);
    CHECK(last_kind(answer, used) == WIRE_ERROR);
    close(fd);
    check_service("no hello");
}

/* Random bytes, and good conversations with some bytes changed. */
static void test_noise(void)
{
    struct random random;
    struct bytes good = conversation();
    random_seed(&random, 1);
    for (unsigned long round = 0; round < test_scaled(400); round++) {
        struct bytes bytes = good;
        unsigned changes = 1 + (unsigned)random_below(&random, 4);
        if (random_chance(&random, 20)) { /* noise from somewhere on */
            size_t from = random_below(&random, bytes.used);
            for (size_t i = from; i < bytes.used; i++)
                bytes.data[i] = (unsigned char)random_next(&random);
        }
        while (changes-- > 0)
            bytes.data[random_below(&random, bytes.used)] = (unsigned char)random_next(&random);
        int fd = running_connect(&service);
        REQUIRE(fd >= 0);
        push(fd, bytes.data, bytes.used);
        shutdown(fd, SHUT_WR);
        char answer[8192];
        bool ended;
        struct timeval soon = {.tv_usec = 200000}; /* half a frame is waited for: enough of it */
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
        pull(fd, answer, sizeof answer, sizeof answer, &ended);
        close(fd);
        if (round % 20 == 0)
            check_service("noise");
    }
    check_service("noise");
}

/* ------------------------------------------------------------------ half-sent and slow */

/* A conversation cut off after every byte of it. */
static void test_half_sent(void)
{
    struct bytes good = conversation();
    for (size_t cut = 0; cut <= good.used; cut++) {
        int fd = running_connect(&service);
        REQUIRE(fd >= 0);
        push(fd, good.data, cut);
        close(fd);
    }
    check_service("half-sent conversations");
}

/* One byte at a time: the same answers as at once. */
static void test_slow(void)
{
    struct bytes good = conversation();
    char at_once[8192], slowly[8192];
    size_t sizes[2];
    for (int slow = 0; slow < 2; slow++) {
        int fd = running_connect(&service);
        bool ended;
        REQUIRE(fd >= 0);
        for (size_t i = 0; slow && i < good.used; i++) {
            CHECK(push(fd, good.data + i, 1));
            if (i % 16 == 0)
                usleep(500);
        }
        if (!slow)
            CHECK(push(fd, good.data, good.used));
        shutdown(fd, SHUT_WR);
        char *to = slow ? slowly : at_once;
        sizes[slow] = pull(fd, to, sizeof slowly, sizeof slowly, &ended);
        CHECK(last_kind(to, sizes[slow]) == WIRE_PONG);
        close(fd);
    }
    CHECK_MSG(sizes[0] == sizes[1], "%zu, %zu bytes", sizes[0], sizes[1]);
    check_service("a slow client");
}

/* ------------------------------------------------------------------ lines */

/* Sends text, and what comes back must contain `expected`. */
static void check_lines(const char *what, const char *text, size_t length, const char *expected)
{
    char answer[65536];
    bool ended;
    int fd = running_connect(&service);
    REQUIRE(fd >= 0);
    push(fd, text, length);
    shutdown(fd, SHUT_WR);
    size_t used = pull(fd, answer, sizeof answer - 1, sizeof answer - 1, &ended);
    answer[used] = '\0';
    CHECK_MSG(strstr(answer, expected) != NULL, "%s: expected %s, got %.300s", what, expected,
              answer);
    close(fd);
    check_service(what);
}

static void check_text(const char *text, const char *expected)
{
    check_lines(text, text, strlen(text), expected);
}

static void test_lines(void)
{
    check_text("ping\n", "{\"pong\":true}");
    check_text("ping\r\n", "{\"pong\":true}");
    check_text("   ping   # with a comment\n", "{\"pong\":true}");
    check_text("\n\n# nothing\n\nping\n", "{\"pong\":true}");
    check_text("ping\nping", "the last line was ignored"); /* it may be half of one */
    check_text("resource half 12\nrequest half half=1", "the last line was ignored");
    check_text("state half\n", "\"free\":12");
    check_text("nonsense\nping\n", "\"line\":1");
    check_text("nonsense\n", "'help' lists the other words");
    check_text("nonsense\nping\n", "{\"pong\":true}");
    check_text("request\nping\n", "\"line\":1,\"column\":8");
    check_text("request p\nping\n", "{\"error\"");
    check_text("request p=1 q\n", "{\"error\"");
    check_text("@x request p q\nping\n", "{\"pong\":true}");
    check_text("@99999999999999999999999 request p q\nping\n", "{\"pong\":true}");
    check_text("@5 request p q\nping\n", "\"code\":7"); /* a gap */
    check_text("hello lease=x\nping\n", "{\"pong\":true}");
    check_text("hello session=00\nping\n", "{\"pong\":true}");
    check_text("open\nopen x\nopen x y\nopen x detect engine=nothing\nping\n", "{\"pong\":true}");
    check_text("use nowhere\nsubscribe x\nwhat-if\nstate nobody\nclose nowhere\nforget\nping\n",
               "{\"pong\":true}");
    check_text("quit\nping\n", "{\"ok\":\"quit\"}");
    check_lines("a NUL", "pi\0ng\nping\n", 11, "{\"pong\":true}");
    check_lines("odd bytes", "\xff\xfe\x80 \x01\x02\nping\n", 12, "{\"pong\":true}");
    /* a name that is too long, a line that is */
    size_t size = (1u << 20) + 4096;
    char *text = malloc(size);
    REQUIRE(text != NULL);
    memset(text, 'x', size);
    memcpy(text, "request ", 8);
    memcpy(text + 1000, "\nping\n", 6);
    check_lines("a long name", text, 1006, "{\"pong\":true}");
    memset(text + 1000, 'y', 6);
    text[size - 1] = '\n';
    check_lines("a line above 1 MiB", text, size, "\"code\":16");
    /* very many words, a line that never ends */
    for (size_t i = 8; i < size; i++)
        text[i] = i % 2 ? ' ' : 'q';
    memcpy(text + (1u << 19), "\nping\n", 6);
    check_lines("a line of many words", text, (1u << 19) + 6, "{\"pong\":true}");
    check_lines("half a line", "request p", 9, "");
    free(text);
}

static void test_line_noise(void)
{
    static const char *const words[] = {"request", "release", "p",      "q",     "q=2",   "to",
                                        "exit",    "hold",    "wait",   "@1",    "@",     "=",
                                        "open",    "use",     "detect", "hello", "x=y",   "#",
                                        "\t",      "what-if", "state",  "close", "forget"};
    struct random random;
    random_seed(&random, 2);
    for (unsigned long round = 0; round < test_scaled(300); round++) {
        char text[4096];
        size_t used = 0;
        while (used < 2000) {
            if (random_chance(&random, 5))
                text[used++] = (char)random_next(&random);
            used += (size_t)sprintf(text + used, "%s%c",
                                    words[random_below(&random, sizeof words / sizeof *words)],
                                    random_chance(&random, 25) ? '\n' : ' ');
        }
        if (text[0] == '\0')
            text[0] = 'x'; /* that would be the other form */
        memcpy(text + used, "\nping\n", 6);
        int fd = running_connect(&service);
        char answer[65536];
        bool ended;
        REQUIRE(fd >= 0);
        push(fd, text, used + 6);
        shutdown(fd, SHUT_WR);
        size_t count = pull(fd, answer, sizeof answer - 1, sizeof answer - 1, &ended);
        answer[count] = '\0';
        /* every line of the answer is an object */
        for (char *line = answer; *line; line = strchr(line, '\n') + 1) {
            char *end = strchr(line, '\n');
            if (!end)
                break;
            CHECK(line[0] == '{' && end[-1] == '}');
        }
        close(fd);
    }
    check_service("noise in lines");
}

/* ------------------------------------------------------------------ floods */

struct flood {
    atomic_bool stop;
    bool lines, reads;
    atomic_ulong sent;
    bool cut_off;
};

/* As much as goes in: big frames of events that are refused, or lines. */
static void *pour(void *context)
{
    struct flood *flood = context;
    static unsigned char frame[1 << 19];
    static char text[1 << 16];
    struct bytes start = greeting();
    int fd = running_connect(&service);
    if (fd < 0)
        return NULL;
    if (!flood->lines)
        push(fd, start.data, start.used);
    for (size_t i = 0; i < sizeof text; i += 16)
        memcpy(text + i, "exit nobody-at-a\n", 16);
    for (size_t i = 15; i < sizeof text; i += 16)
        text[i] = '\n';
    gordian_event *events = calloc(20000, sizeof *events);
    for (size_t i = 0; i < 20000; i++)
        events[i] = (gordian_event){.op = GORDIAN_OP_EXIT, .process = 999999, .to = GORDIAN_NONE};
    uint64_t number = 1;
    while (!atomic_load(&flood->stop)) {
        size_t size = flood->lines ? sizeof text
                                   : wire_put_events(frame, sizeof frame, number, events, 20000);
        const void *from = flood->lines ? (const void *)text : frame;
        struct pollfd wanted = {.fd = fd, .events = POLLOUT | (flood->reads ? POLLIN : 0)};
        size_t done = 0;
        while (done < size && !atomic_load(&flood->stop)) {
            char answers[65536];
            poll(&wanted, 1, 50);
            if (flood->reads)
                recv(fd, answers, sizeof answers, MSG_DONTWAIT);
            ssize_t count =
                send(fd, (const char *)from + done, size - done, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (count < 0 && errno != EAGAIN) {
                flood->cut_off = true;
                goto done;
            }
            done += count > 0 ? (size_t)count : 0;
        }
        number += 20000;
        atomic_fetch_add(&flood->sent, size);
    }
done:
    free(events);
    close(fd);
    return NULL;
}

/* One that pours, reading its answers or not, does not keep another from being served, and the
 * service's memory stays within bounds. */
static void test_flood(bool lines, bool reads)
{
    struct flood flood = {.lines = lines, .reads = reads};
    pthread_t thread;
    char what[60];
    unsigned long at_first = running_memory(&service);
    snprintf(what, sizeof what, "a flood of %s, %s", lines ? "lines" : "frames",
             reads ? "read" : "never read");
    REQUIRE(pthread_create(&thread, NULL, pour, &flood) == 0);
    while (reads && atomic_load(&flood.sent) == 0)
        usleep(1000);
    for (unsigned long i = 0; i < 10 + test_scaled(90); i++)
        check_service(what);
    unsigned long after = running_memory(&service);
    CHECK_MSG(after < at_first + (512ul << 20), "%s: %lu MiB, %lu before", what, after >> 20,
              at_first >> 20);
    atomic_store(&flood.stop, true);
    pthread_join(thread, NULL);
    check_service(what);
}

/* ------------------------------------------------------------------ a crowd */

static void test_crowd(void)
{
    struct rlimit limit;
    size_t count = test_scaled(1000) < 100 ? 100 : test_scaled(1000);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < count + 64) {
        limit.rlim_cur = limit.rlim_max < count + 64 ? limit.rlim_max : count + 64;
        setrlimit(RLIMIT_NOFILE, &limit);
        if (count + 64 > limit.rlim_cur)
            count = limit.rlim_cur - 64;
    }
    gordian_client **clients = calloc(count, sizeof *clients);
    REQUIRE(clients != NULL);
    gordian_client_options options;
    gordian_client_options_init(&options);
    options.timeout_ms = 600000;
    for (size_t i = 0; i < count; i++) {
        gordian_status status = gordian_client_open(&clients[i], service.uri, &options, &error);
        REQUIRE(status == GORDIAN_OK);
    }
    /* all want the same; it goes round in order of arrival */
    uint32_t shared;
    CHECK(gordian_client_add_resource(clients[0], "shared", 1, &shared, &error) == GORDIAN_OK);
    for (size_t i = 0; i < count; i++) {
        char name[32];
        uint32_t process;
        gordian_reply reply;
        snprintf(name, sizeof name, "crowd-%zu", i);
        CHECK(gordian_client_add_process(clients[i], name, &process, &error) == GORDIAN_OK);
        CHECK(gordian_client_request(clients[i], process, shared, 1, &reply, &error) == GORDIAN_OK);
        CHECK(reply.outcome == (i == 0 ? GORDIAN_OUTCOME_GRANTED : GORDIAN_OUTCOME_BLOCKED));
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t process;
        char name[32];
        snprintf(name, sizeof name, "crowd-%zu", i);
        CHECK(gordian_client_add_process(clients[i], name, &process, &error) == GORDIAN_OK);
        CHECK(gordian_client_wait_granted(clients[i], process, GORDIAN_FOREVER, &error) ==
              GORDIAN_OK);
        /* every other one just goes away: that gives it back as well */
        if (i % 2)
            gordian_client_leave(clients[i]);
        else
            gordian_client_close(clients[i]);
    }
    free(clients);
    check_service("a crowd");
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    REQUIRE(running_start(&service, argv[1], NULL));
    gordian_client_options options;
    gordian_client_options_init(&options);
    options.timeout_ms = 600000;
    REQUIRE(gordian_client_open(&witness, service.uri, &options, &error) == GORDIAN_OK);
    REQUIRE(gordian_client_add_process(witness, "witness", &witness_process, &error) == GORDIAN_OK);
    REQUIRE(gordian_client_add_resource(witness, "witness", 1, &witness_resource, &error) ==
            GORDIAN_OK);
    test_malformed();
    test_bad_start();
    test_noise();
    test_half_sent();
    test_slow();
    test_lines();
    test_line_noise();
    test_flood(false, true);
    test_flood(false, false);
    test_flood(true, true);
    test_flood(true, false);
    test_crowd();
    gordian_client_close(witness);
    CHECK(running_stop(&service) == 0);
    return test_done();
}
