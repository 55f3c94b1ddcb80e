/* The parser of HTTP heads: what it takes, what it refuses, and that nothing can break it. */
#include "test.h"

#include "foundation/base/random.h"
#include "foundation/http/request.h"

#include <string.h>

static struct http_request request;

static int parse(const char *text)
{
    size_t seen = 0, length = strlen(text);
    size_t end = http_head_end(text, length, &seen);
    return end ? http_parse(&request, text, end) : -1;
}

static void test_good(void)
{
    CHECK(parse("GET / HTTP/1.1\r\nHost: a\r\n\r\n") == 0);
    CHECK(request.method == HTTP_GET && request.segment_count == 0 && request.keep_alive);
    CHECK(strcmp(request.path, "/") == 0 && strcmp(request.host, "a") == 0);

    CHECK(parse("POST /api/v1/systems/a%2Fb%20c/what-if?x=1&y=a+b%26&flag HTTP/1.1\r\n"
                "host:  h:80 \r\ncontent-LENGTH: 17\r\nX-Other: \xc3\xa4\r\n"
                "Connection: Keep-Alive, close\r\n\r\n") == 0);
    CHECK(request.method == HTTP_POST && request.content_length == 17 && !request.keep_alive);
    CHECK(request.segment_count == 5 && strcmp(request.segments[3], "a/b c") == 0);
    CHECK(strcmp(request.host, "h:80") == 0);
    CHECK(strcmp(http_query(&request, "x"), "1") == 0);
    CHECK(strcmp(http_query(&request, "y"), "a b&") == 0);
    CHECK(strcmp(http_query(&request, "flag"), "") == 0 && !http_query(&request, "z"));

    CHECK(parse("GET /x/ HTTP/1.0\r\n\r\n") == 0);
    CHECK(request.version_1_0 && !request.keep_alive && request.segment_count == 1);
    CHECK(parse("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n") == 0 && request.keep_alive);
    CHECK(parse("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n") == 0 && request.method == HTTP_HEAD);
    CHECK(parse("BREW / HTTP/1.1\r\nHost: a\r\n\r\n") == 0 && request.method == HTTP_OTHER);
    CHECK(parse("GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\n\r\n") == 0);
    CHECK(request.expects_continue);
}

static void test_bad(void)
{
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {"\r\n\r\n", 400},
        {"GET\r\n\r\n", 400},
        {"GET /\r\n\r\n", 400},
        {" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n\r\n", 400},                       /* no host */
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400}, /* two */
        {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
        {"GET / FTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"G{T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /%0 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /a?b=%4 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET / HTTP/1.1\nHost: a\r\n\r\n", 400},      /* a bare LF */
        {"GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 400}, /* a bare CR */
        {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},   /* smuggling's friends */
        {"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1 1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 411},
        {"GET / HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n", 417},
        {"GET /1/2/3/4/5/6/7/8/9 HTTP/1.1\r\nHost: a\r\n\r\n", 414},
        {"GET /?1&2&3&4&5&6&7&8&9&10&11&12&13&14&15&16&17 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = parse(cases[i].text);
        CHECK_MSG(status == cases[i].status, "case %zu: %d", i, status);
    }
    char nul[] = "GET / HTTP/1.1\r\nHost: a_b\r\n\r\n";
    nul[23] = '\0';
    CHECK(http_parse(&request, nul, sizeof nul - 1) == 400);
}

static void test_head_end(void)
{
    const char text[] = "GET / HTTP/1.1\r\nA: b\r\n\r\nmore";
    size_t expected = sizeof text - 1 - 4;
    /* Byte by byte, and from every place on. */
    size_t seen = 0;
    for (size_t length = 0; length < sizeof text; length++)
        CHECK(http_head_end(text, length, &seen) == (length >= expected ? expected : 0) ||
              length > expected);
    for (size_t first = 0; first < expected; first++) {
        seen = 0;
        CHECK(http_head_end(text, first, &seen) == 0);
        CHECK(http_head_end(text, sizeof text - 1, &seen) == expected);
    }
}

static void test_pieces(void)
{
    size_t length;
    const char *found = http_cookie("a=1; gordian_session=xyz; b=2", "gordian_session", &length);
    CHECK(found && length == 3 && memcmp(found, "xyz", 3) == 0);
    CHECK(!http_cookie("xgordian_session=1; gordian_sessionx=2", "gordian_session", &length));
    found = http_cookie("gordian_session=", "gordian_session", &length);
    CHECK(found && length == 0);
    CHECK(!http_cookie(NULL, "a", &length));
    CHECK(strcmp(http_bearer("bearer  abc"), "abc") == 0);
    CHECK(!http_bearer("Basic abc") && !http_bearer(NULL) && !http_bearer("Bearerabc"));
    CHECK(http_is_json("application/json") && http_is_json("Application/JSON; charset=utf-8"));
    CHECK(!http_is_json("application/jsonp") && !http_is_json("text/plain") && !http_is_json(NULL));
    char name[16];
    CHECK(http_host_name("[::1]:80", name, sizeof name) && strcmp(name, "::1") == 0);
    CHECK(http_host_name("host:80", name, sizeof name) && strcmp(name, "host") == 0);
    CHECK(!http_host_name("[::1", name, sizeof name) && !http_host_name(":80", name, sizeof name));
    CHECK(!http_host_name("a-name-that-is-too-long", name, sizeof name));
    CHECK(http_host_name("of-4", name, 5) && !http_host_name("of-4", name, 4));
}

/* The largest head of every shape fits the request's buffer. */
static void test_largest(void)
{
    static char text[HTTP_HEAD_MAX + 1];
    static const char start[] = "GET /", end[] = " HTTP/1.0\r\n\r\n";
    static const char fills[] = "a/&%";
    for (size_t shape = 0; shape < sizeof fills - 1; shape++) {
        memset(text, 'a', sizeof text);
        memcpy(text, start, sizeof start - 1);
        size_t room = HTTP_HEAD_MAX - (sizeof start - 1) - (sizeof end - 1);
        if (fills[shape] == '&') {
            text[5] = '?';
            for (size_t i = 0; i < 15; i++)
                text[8 + 2 * i] = '&';
        } else if (fills[shape] == '/') {
            for (size_t i = 0; i < 7; i++)
                text[6 + 2 * i] = '/';
        } else if (fills[shape] == '%') {
            for (size_t i = 0; i + 3 <= room; i += 3)
                memcpy(text + 5 + i, "%61", 3);
        }
        memcpy(text + 5 + room, end, sizeof end - 1);
        CHECK(http_parse(&request, text, HTTP_HEAD_MAX) == 0);
        CHECK(http_parse(&request, text, HTTP_HEAD_MAX + 1) == 431);
    }
}

/* Whoever speaks something else need not be waited for; every beginning of a request may be one. */
static void test_beginnings(void)
{
    static const char good[] = "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    for (size_t length = 0; length < sizeof good; length++)
        CHECK(http_may_begin(good, length));
    CHECK(!http_may_begin("\0GRD\1", 5) && !http_may_begin("\x16\3\1", 3));
    CHECK(http_may_begin("hello name=x", 12) && !http_may_begin("hello name=x\n", 13));
    CHECK(!http_may_begin("GET /\n HTTP/1.1", 15) && !http_may_begin("a HTTP\n", 7));
}

/* Good heads with a few bytes changed, cut or doubled: the sanitizers watch. */
static void test_mutations(void)
{
    static const char *const seeds[] = {
        "GET /api/v1/systems/a%2Fb/graph?around=p1&depth=3&only=waiting HTTP/1.1\r\nHost: a\r\n"
        "Authorization: Bearer 0123456789abcdef\r\nCookie: a=b; gordian_session=0\r\n\r\n",
        "POST /api/v1/login HTTP/1.1\r\nHost: [::1]:1\r\nContent-Length: 12\r\n"
        "Content-Type: application/json\r\nConnection: close\r\nExpect: 100-continue\r\n\r\n",
    };
    unsigned long rounds = test_scaled(200000);
    struct random random;
    random_seed(&random, 9);
    size_t good = 0;
    for (unsigned round = 0; round < rounds; round++) {
        char text[512];
        const char *seed = seeds[round % 2];
        size_t length = strlen(seed);
        memcpy(text, seed, length);
        for (uint64_t i = random_below(&random, 4); i > 0; i--) {
            size_t at = random_below(&random, length);
            switch (random_below(&random, 3)) {
            case 0:
                text[at] = (char)random_next(&random);
                break;
            case 1:
                memmove(text + at, text + at + 1, length - at - 1);
                length--;
                break;
            default:
                memmove(text + at + 1, text + at, length - at);
                length++;
                text[at] = "\r\n %:/&=?\t"[random_below(&random, 10)];
            }
        }
        size_t seen = 0, end = http_head_end(text, length, &seen);
        good += end && http_parse(&request, text, end) == 0;
    }
    CHECK(good > rounds / 10 && good < rounds);
}

int main(void)
{
    test_good();
    test_bad();
    test_head_end();
    test_pieces();
    test_largest();
    test_beginnings();
    test_mutations();
    return test_done();
}
