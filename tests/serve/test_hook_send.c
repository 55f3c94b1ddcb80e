/* What a notice to the outside that could not be sent says of itself. */
#include "../test.h"
#include "serve/server/hook.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

/* Broken off it says so, and not what went wrong elsewhere, or what a connection says of it. */
static void test_broken_off(const char *to)
{
    struct hook_target target = {.guard = PTHREAD_MUTEX_INITIALIZER};
    gordian_error error = {0};
    REQUIRE(hook_parse(&target, to, NULL, &error) == GORDIAN_OK);
    hook_break_off(&target);
    errno = ENOENT;
    CHECK(hook_send(&target, "{}", 2, &error) == GORDIAN_STATUS_IO);
    CHECK_MSG(strcmp(error.message, "it was broken off") == 0, "%s: %s", to, error.message);
}

/* Otherwise it says why. */
static void test_refused(void)
{
    struct hook_target target = {.guard = PTHREAD_MUTEX_INITIALIZER};
    gordian_error error = {0};
    REQUIRE(hook_parse(&target, "http://127.0.0.1:1", NULL, &error) == GORDIAN_OK);
    CHECK(hook_send(&target, "{}", 2, &error) == GORDIAN_STATUS_IO);
    CHECK_MSG(strstr(error.message, strerror(ECONNREFUSED)), "%s", error.message);
    REQUIRE(hook_parse(&target, "exit 7", NULL, &error) == GORDIAN_OK);
    CHECK(hook_send(&target, "{}", 2, &error) == GORDIAN_STATUS_IO);
    CHECK_MSG(strcmp(error.message, "the command ended with status 7") == 0, "%s", error.message);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as the service has it: a command need not read */
    test_broken_off("http://127.0.0.1:1");
    test_broken_off("https://127.0.0.1:1");
    test_broken_off("exec sleep 600");
    test_refused();
    return test_done();
}
