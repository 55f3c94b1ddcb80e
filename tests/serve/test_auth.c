/* Tokens, cookies, peers and addresses; what systemd hands over and is told. */
#include "scratch.h"
#include "test.h"

#include "service/serve/auth/auth.h"
#include "service/serve/server/server_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[SCRATCH_SIZE];

static const char *put(const char *name, const char *text, mode_t mode)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    REQUIRE(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    REQUIRE(chmod(path, mode) == 0);
    return path;
}

#define READER "0123456789abcdef-reader"
#define WRITER "0123456789abcdef-writer"

static enum auth_rights ask(const struct auth *auth, const char *token)
{
    struct auth_grant grant;
    return auth_token(auth, token, strlen(token), &grant);
}

/* ------------------------------------------------------------------ tokens */

static void test_tokens(void)
{
    struct auth *auth;
    gordian_error error;
    const char *path = put("tokens",
                           "# who may\n\ngrafana read " READER " # a comment\n"
                           "ci  write\t" WRITER "\n",
                           0600);
    REQUIRE(auth_open(&auth, path, &error) == GORDIAN_OK);
    CHECK(auth_required(auth));
    struct auth_grant grant;
    CHECK(auth_token(auth, READER, strlen(READER), &grant) == AUTH_READ);
    CHECK(strcmp(grant.name, "grafana") == 0 && !*grant.systems);
    CHECK(ask(auth, WRITER) == AUTH_WRITE);
    CHECK(ask(auth, "") == AUTH_NONE && ask(auth, "grafana") == AUTH_NONE);
    /* Every single changed, missing or added character counts. */
    char wrong[64];
    for (size_t i = 0; i < strlen(WRITER); i++) {
        strcpy(wrong, WRITER);
        wrong[i] ^= 1;
        CHECK(ask(auth, wrong) == AUTH_NONE);
        wrong[i] = '\0';
        CHECK(ask(auth, wrong) == AUTH_NONE);
    }
    CHECK(ask(auth, WRITER "x") == AUTH_NONE);

    put("tokens", "a send " READER "\nb administer,end-others " WRITER "\n", 0600);
    CHECK(auth_reload(auth, &error) == GORDIAN_OK && ask(auth, READER) == AUTH_SEND);
    CHECK(ask(auth, WRITER) == AUTH_WRITE);
    static const char *const no_rights[] = {",", "send,", ",read", "sends", "send,write,all"};
    for (size_t i = 0; i < sizeof no_rights / sizeof *no_rights; i++) {
        char line[200];
        snprintf(line, sizeof line, "a %s " READER "\n", no_rights[i]);
        put("tokens", line, 0600);
        CHECK_MSG(auth_reload(auth, &error) == GORDIAN_STATUS_INPUT, "%s", line);
    }

    /* Reload: the old one goes, a broken file changes nothing. */
    unsigned generation = auth_generation(auth);
    put("tokens", "ci write", 0600);
    CHECK(auth_reload(auth, &error) == GORDIAN_STATUS_INPUT && ask(auth, WRITER) == AUTH_WRITE);
    CHECK(auth_generation(auth) == generation);
    put("tokens", "grafana read " READER "\n", 0600);
    CHECK(auth_reload(auth, &error) == GORDIAN_OK);
    CHECK(ask(auth, WRITER) == AUTH_NONE && ask(auth, READER) == AUTH_READ);
    CHECK(auth_generation(auth) != generation);
    auth_close(auth);

    REQUIRE(auth_open(&auth, NULL, &error) == GORDIAN_OK);
    CHECK(!auth_required(auth) && auth_reload(auth, &error) == GORDIAN_OK);
    auth_close(auth);
}

static void test_bad_files(void)
{
    static const char *const bad[] = {
        "",
        "# nothing\n",
        "ci write\n",
        "ci execute " WRITER "\n",
        "ci write short\n",
        "ci write " WRITER " more\n",
        "ci write 0123456789abcdef\xc3\xa4\n",
        "a-name-that-is-far-too-long-to-be-the-name-of-anything-at-all-here write " WRITER "\n",
    };
    struct auth *auth;
    gordian_error error;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *path = put("bad", bad[i], 0600);
        error.message[0] = '\0';
        CHECK_MSG(auth_open(&auth, path, &error) == GORDIAN_STATUS_INPUT, "case %zu", i);
        CHECK(!auth && strstr(error.message, "bad"));
        CHECK(!strstr(error.message, WRITER)); /* never in a log */
    }
    static const mode_t modes[] = {0640, 0604, 0644, 0620, 0602, 0666};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        CHECK(auth_open(&auth, put("open", "ci write " WRITER "\n", modes[i]), &error) ==
              GORDIAN_STATUS_INPUT);
    CHECK(auth_open(&auth, put("good", "ci write " WRITER "\n", 0400), &error) == GORDIAN_OK);
    auth_close(auth);
    CHECK(auth_open(&auth, "/nowhere/at/all", &error) == GORDIAN_STATUS_INPUT);
    CHECK(auth_open(&auth, folder, &error) == GORDIAN_STATUS_INPUT);
}

/* Which systems, and how much of everything. */
static void test_settings(void)
{
    struct auth *auth;
    gordian_error error;
    struct auth_grant grant;
    const char *path = put("tokens",
                           "shop write " WRITER " systems=shop-*,stock max-names=10 max-memory=2M "
                           "max-events=100 max-systems=3\n",
                           0600);
    REQUIRE(auth_open(&auth, path, &error) == GORDIAN_OK);
    CHECK(auth_token(auth, WRITER, strlen(WRITER), &grant) == AUTH_WRITE);
    CHECK(grant.max_names == 10 && grant.max_memory == 2 << 20 && grant.max_events == 100 &&
          grant.max_systems == 3);
    static const struct {
        const char *name;
        bool fits;
    } cases[] = {{"shop-1", true}, {"shop-", true}, {"stock", true},     {"stocks", false},
                 {"shop", false},  {"", false},     {"my-shop-1", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_MSG(auth_fits(grant.systems, cases[i].name) == cases[i].fits, "%s", cases[i].name);
    CHECK(auth_fits("", "anything"));
    auth_close(auth);
    static const char *const wrong[] = {"systems=",    "systems",      "max-names=0",
                                        "max-names=x", "max-memory=0", "max-things=1",
                                        "systems=[ab]"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[200];
        snprintf(text, sizeof text, "a write " WRITER " %s\n", wrong[i]);
        CHECK_MSG(auth_open(&auth, put("tokens", text, 0600), &error) == GORDIAN_STATUS_INPUT &&
                      strstr(error.message, "line 1"),
                  "%s", wrong[i]);
    }
}

static void test_cookies(void)
{
    struct auth *auth;
    gordian_error error;
    char cookie[AUTH_COOKIE_SIZE], other[AUTH_COOKIE_SIZE];
    struct auth_grant grant;
    put("tokens", "a read " READER "\nb write " WRITER "\n", 0600);
    char path[400];
    snprintf(path, sizeof path, "%s/tokens", folder);
    REQUIRE(auth_open(&auth, path, &error) == GORDIAN_OK);
    size_t size = AUTH_COOKIE_SIZE - 1;
    uint64_t day = UINT64_C(86400000);
    CHECK(auth_login(auth, "wrong-wrong-wrong", 17, 1, cookie) == AUTH_NONE);
    CHECK(auth_cookie(auth, "0000", 4, 1, &grant) == AUTH_NONE);
    CHECK(auth_login(auth, READER, strlen(READER), 1, cookie) == AUTH_READ);
    CHECK(auth_login(auth, WRITER, strlen(WRITER), 1, other) == AUTH_WRITE);
    CHECK(strlen(cookie) == size && strcmp(cookie, other) != 0);
    CHECK(auth_cookie(auth, cookie, size, 2, &grant) == AUTH_READ);
    CHECK(auth_cookie(auth, other, size, 2, &grant) == AUTH_WRITE);
    CHECK(auth_cookie(auth, cookie, size - 1, 2, &grant) == AUTH_NONE);
    CHECK(auth_cookie(auth, cookie, size, day, &grant) == AUTH_NONE); /* too old */
    auth_logout(auth, cookie, size);
    CHECK(auth_cookie(auth, cookie, size, 2, &grant) == AUTH_NONE);
    CHECK(auth_cookie(auth, other, size, 2, &grant) == AUTH_WRITE);
    /* A token that is gone takes its cookies along; a right that was lost is lost. */
    put("tokens", "a read " READER "\nb read " WRITER "\n", 0600);
    CHECK(auth_reload(auth, &error) == GORDIAN_OK);
    CHECK(auth_cookie(auth, other, size, 2, &grant) == AUTH_READ);
    put("tokens", "a read " READER "\n", 0600);
    CHECK(auth_reload(auth, &error) == GORDIAN_OK);
    CHECK(auth_cookie(auth, other, size, 2, &grant) == AUTH_NONE);
    put("tokens", "a read " READER "\nb write " WRITER "\n", 0600);
    CHECK(auth_reload(auth, &error) == GORDIAN_OK); /* it is back, its cookies are not */
    CHECK(auth_cookie(auth, other, size, 2, &grant) == AUTH_NONE);
    /* However many there are, the newest stay. */
    CHECK(auth_login(auth, READER, strlen(READER), 3, cookie) == AUTH_READ);
    for (size_t i = 0; i < AUTH_COOKIES_MAX - 1; i++)
        auth_login(auth, READER, strlen(READER), 3, other);
    CHECK(auth_cookie(auth, cookie, size, 4, &grant) == AUTH_READ);
    auth_login(auth, READER, strlen(READER), 3, other);
    CHECK(auth_cookie(auth, cookie, size, 4, &grant) == AUTH_NONE);
    CHECK(auth_cookie(auth, other, size, 4, &grant) == AUTH_READ);
    auth_close(auth);
}

/* ------------------------------------------------------------------ peers */

/* Root of a container may not be allowed to become somebody else. */
static bool may_become_others(void)
{
    int status;
    gid_t group = 4713;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(setgroups(1, &group) != 0 || setgid(4711) != 0 || setuid(4711) != 0);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Asks as another user, where we may become one. */
static bool admits(const struct auth_peers *peers, uid_t uid, gid_t gid, gid_t extra)
{
    int pair[2], answer[2];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, "peer");
    unlink(address.sun_path);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    REQUIRE(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
    REQUIRE(chmod(address.sun_path, 0666) == 0 && chmod(folder, 0755) == 0);
    REQUIRE(listen(listener, 1) == 0 && pipe(answer) == 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (setgroups(extra ? 1 : 0, &extra) != 0 || setgid(gid) != 0 || setuid(uid) != 0 ||
            connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
            _exit(1);
        close(answer[1]);
        _exit(read(answer[0], &byte, 1) != 0);
    }
    pair[0] = accept(listener, NULL, NULL);
    uid_t who = 12345;
    bool admitted = auth_peer(peers, pair[0], &who);
    CHECK(who == uid);
    close(pair[0]);
    close(listener);
    close(answer[0]);
    close(answer[1]);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    return admitted;
}

static void test_peers(void)
{
    struct auth_peers peers;
    gordian_error error;
    int pair[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    REQUIRE(auth_peers_open(&peers, NULL, NULL, NULL, &error) == GORDIAN_OK);
    CHECK(auth_peers_mode(&peers) == 0600 && auth_peer(&peers, pair[0], NULL));
    if (geteuid() == 0 && may_become_others()) {
        CHECK(!admits(&peers, 4711, 4711, 0));
        auth_peers_close(&peers);
        REQUIRE(auth_peers_open(&peers, NULL, "4710,4711", NULL, &error) == GORDIAN_OK);
        CHECK(auth_peers_mode(&peers) == 0666);
        CHECK(admits(&peers, 4711, 4711, 0) && !admits(&peers, 4712, 4711, 4711));
        auth_peers_close(&peers);
        REQUIRE(auth_peers_open(&peers, NULL, NULL, "root,4713", &error) == GORDIAN_OK);
        CHECK(admits(&peers, 4711, 4713, 0) && admits(&peers, 4711, 4711, 4713));
        CHECK(!admits(&peers, 4711, 4711, 4714));
        auth_peers_close(&peers);
        REQUIRE(auth_peers_open(&peers, "4715", NULL, NULL, &error) == GORDIAN_OK);
        CHECK(auth_peers_mode(&peers) == 0660);
        CHECK(admits(&peers, 4711, 4715, 0) && !admits(&peers, 4711, 4711, 0));
    }
    auth_peers_close(&peers);
    CHECK(auth_peers_open(&peers, NULL, "root,,1", NULL, &error) == GORDIAN_STATUS_INPUT);
    CHECK(auth_peers_open(&peers, NULL, "no-such-user-here", NULL, &error) == GORDIAN_STATUS_INPUT);
    CHECK(auth_peers_open(&peers, "no-such-group-here", NULL, NULL, &error) ==
          GORDIAN_STATUS_INPUT);
    close(pair[0]);
    close(pair[1]);
}

static void test_addresses(void)
{
    static const char *const ours[] = {"localhost", "127.0.0.1", "127.9.8.7", "::1",
                                       "::ffff:127.0.0.1"};
    static const char *const others[] = {"0.0.0.0", "::",          "10.0.0.1",        "fe80::1",
                                         "",        "example.com", "127.0.0.1.evil.x"};
    struct auth *none, *some;
    gordian_error error;
    REQUIRE(auth_open(&none, NULL, &error) == GORDIAN_OK);
    REQUIRE(auth_open(&some, put("t", "a read " READER "\n", 0600), &error) == GORDIAN_OK);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        CHECK_MSG(auth_is_loopback(ours[i]), "%s", ours[i]);
        CHECK(auth_check_address(none, ours[i], false, false, &error) == GORDIAN_OK);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CHECK_MSG(!auth_is_loopback(others[i]), "%s", others[i]);
        CHECK(auth_check_address(none, others[i], true, true, &error) == GORDIAN_STATUS_INPUT);
        CHECK(strstr(error.message, "--token-file"));
        CHECK(auth_check_address(some, others[i], false, false, &error) == GORDIAN_STATUS_INPUT);
        CHECK(strstr(error.message, "--tls-cert"));
        CHECK(auth_check_address(some, others[i], true, false, &error) == GORDIAN_OK);
        CHECK(auth_check_address(some, others[i], false, true, &error) == GORDIAN_OK);
    }
    struct sockaddr_in any = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(fd >= 0 && bind(fd, (struct sockaddr *)&any, sizeof any) == 0);
    CHECK(auth_check_socket(none, fd, false, false, &error) == GORDIAN_STATUS_INPUT);
    CHECK(auth_check_socket(some, fd, true, false, &error) == GORDIAN_OK);
    close(fd);
    auth_close(none);
    auth_close(some);
}

/* ------------------------------------------------------------------ systemd */

static void expect(int fd, const char *text)
{
    char message[600] = "";
    ssize_t length = recv(fd, message, sizeof message - 1, MSG_DONTWAIT);
    CHECK_MSG(length > 0 && strstr(message, text) == message, "expected '%s', got '%s'", text,
              message);
}

static void notify_through(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct systemd systemd;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (path[0] == '@')
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    REQUIRE(fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0);
    char pid[32];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("NOTIFY_SOCKET", path, 1);
    setenv("WATCHDOG_USEC", "20000000", 1);
    setenv("WATCHDOG_PID", pid, 1);
    systemd_open(&systemd);
    CHECK(!getenv("NOTIFY_SOCKET") && !getenv("WATCHDOG_USEC"));
    CHECK(systemd.watchdog_us == 20000000 && systemd.sockets == 0);
    systemd_say(&systemd, "READY=1");
    expect(fd, "READY=1");
    systemd_say(&systemd, "RELOADING=1\nMONOTONIC_USEC=1");
    expect(fd, "RELOADING=1\nMONOTONIC_USEC=");
    /* Nobody reads any more: that must not keep us. */
    for (int i = 0; i < 10000; i++)
        systemd_say(&systemd, "WATCHDOG=1");
    close(fd);
    systemd_say(&systemd, "WATCHDOG=1");
    close(systemd.fd);
}

static void test_notify(void)
{
    char path[300];
    struct systemd systemd;
    snprintf(path, sizeof path, "%s/notify", folder);
    if (strlen(path) < sizeof(struct sockaddr_un) - offsetof(struct sockaddr_un, sun_path))
        notify_through(path);
    snprintf(path, sizeof path, "@gordian-test-%d", (int)getpid());
    notify_through(path);
    setenv("NOTIFY_SOCKET", "/nowhere/at/all", 1);
    setenv("WATCHDOG_USEC", "1000000", 1);
    setenv("WATCHDOG_PID", "1", 1);
    systemd_open(&systemd);
    CHECK(systemd.fd < 0 && systemd.watchdog_us == 0);
    systemd_say(&systemd, "READY=1");
}

/* In a child, because the descriptors are counted from 3 on. */
static int take_over(const char *names, const char *count, bool listening)
{
    int fds[3] = {socket(AF_UNIX, SOCK_STREAM, 0), socket(AF_INET, SOCK_STREAM, 0),
                  socket(AF_INET, SOCK_STREAM, 0)};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct systemd systemd;
    struct inherited sockets[3];
    gordian_error error;
    strcpy(address.sun_path, "listen");
    unlink(address.sun_path);
    if (bind(fds[0], (struct sockaddr *)&address, sizeof address) != 0)
        return 90;
    for (int i = 0; i < 3; i++) {
        if (listening && listen(fds[i], 1) != 0)
            return 91;
        fds[i] = fcntl(fds[i], F_DUPFD, 20);
    }
    for (int i = 0; i < 3; i++)
        if (dup2(fds[i], 3 + i) != 3 + i)
            return 92;
    char pid[32];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", count, 1);
    if (names)
        setenv("LISTEN_FDNAMES", names, 1);
    systemd_open(&systemd);
    for (int i = 0; i < 3; i++)
        if (server_inherit(&systemd, 3 + i, &sockets[i], &error) != GORDIAN_OK)
            return 10;
    if (systemd.sockets != 3 || getenv("LISTEN_FDS"))
        return 11;
    if (!sockets[0].is_unix || strcmp(sockets[0].address.sun_path, "listen") != 0 ||
        sockets[0].http || sockets[1].is_unix || sockets[1].http)
        return 12;
    if (!(fcntl(4, F_GETFD) & FD_CLOEXEC) || !(fcntl(4, F_GETFL) & O_NONBLOCK))
        return 13;
    return sockets[2].http ? 0 : 1;
}

static int in_child(const char *names, const char *count, bool listening)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(take_over(names, count, listening));
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_sockets(void)
{
    CHECK(in_child("unix:tcp:http", "3", true) == 0);
    CHECK(in_child("gordian.socket:gordian.socket:gordian.socket", "3", true) == 1);
    CHECK(in_child(NULL, "3", true) == 1);
    CHECK(in_child("unix", "3", true) == 1);
    CHECK(in_child("unix:tcp:http", "3", false) == 10);
    CHECK(in_child(NULL, "17", true) == 10);
    CHECK(in_child(NULL, "x", true) == 11); /* not a number: as if it were not there */
}

int main(void)
{
    REQUIRE(scratch_make(folder, "auth") && chdir(folder) == 0);
    test_tokens();
    test_bad_files();
    test_settings();
    test_cookies();
    test_peers();
    test_addresses();
    test_notify();
    test_sockets();
    CHECK(system("rm -f tokens bad open good t peer listen notify") == 0);
    CHECK(chdir("/") == 0 && rmdir(folder) == 0);
    return test_done();
}
