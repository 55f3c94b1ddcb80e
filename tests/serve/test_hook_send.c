/* Notices to the outside: the error of one that could not be sent, and signals. */
#include "../test.h"
#include "service/serve/server/hook.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Broken off it says so, and not what went wrong elsewhere, or what a connection says of it. */
static void test_broken_off(const char *to)
{
    struct hook_target target = {.guard = PTHREAD_MUTEX_INITIALIZER};
    gordian_error error = {0};
    REQUIRE(hook_parse(&target, to, NULL, &error) == GORDIAN_OK);
    hook_abort(&target);
    errno = ENOENT;
    CHECK(hook_send(&target, "{}", 2, &error) == GORDIAN_STATUS_IO);
    CHECK_MSG(strcmp(error.message, "sending was aborted") == 0, "%s: %s", to, error.message);
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

static void block_all_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
}

/* Runs `test` in a process of its own; returns how that ended. */
static int end_of(void (*test)(void))
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        test();
        _exit(test_done());
    }
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

/* A SIGTERM that the caller holds back waits for the caller: the hook's thread does not take it,
 * where it would end the process. */
static void term_waits_for_the_caller(void)
{
    struct hook *hook;
    sigset_t pending;
    REQUIRE(hook_open(&hook, "exec true", NULL, NULL) == GORDIAN_OK);
    block_all_signals();
    kill(getpid(), SIGTERM);
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1);
    hook_close(hook);
}

/* A command can be ended, whatever signals the thread that starts it blocks. */
static void commands_block_nothing(void)
{
    struct hook_target target = {.guard = PTHREAD_MUTEX_INITIALIZER};
    gordian_error error = {0};
    REQUIRE(hook_parse(&target, "kill -TERM $$", NULL, &error) == GORDIAN_OK);
    block_all_signals();
    CHECK(hook_send(&target, "{}", 2, &error) == GORDIAN_STATUS_IO);
    CHECK_MSG(strcmp(error.message, "the command ended with signal 15") == 0, "%s", error.message);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as the service has it: a command need not read */
    test_broken_off("http://127.0.0.1:1");
    test_broken_off("https://127.0.0.1:1");
    test_broken_off("exec sleep 600");
    test_refused();
    int alone = end_of(term_waits_for_the_caller), command = end_of(commands_block_nothing);
    CHECK_MSG(alone == 0, "the process that was sent SIGTERM ended with %d", alone);
    CHECK_MSG(command == 0, "the process that ran a command ended with %d", command);
    return test_done();
}
