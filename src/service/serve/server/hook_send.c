/* Sends one notification to a webhook or a command. This may take long, so a thread does it. */
#define _GNU_SOURCE /* pipe2, environ */
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "service/serve/server/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMAND_MS (6 * HOOK_MS)
#define GRACE_NS   UINT64_C(1000000000) /* after SIGTERM to a command */

/* ------------------------------------------------------------------ parsing the target */

static gordian_status read_secret(struct hook_target *target, const char *path,
                                  gordian_error *error)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return fail(error, GORDIAN_STATUS_INPUT, "cannot read the secret in '%s': %s", path,
                    strerror(errno));
    const char *why = NULL;
    ssize_t count = 0;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
        why = "it is not a file";
    else if (about.st_mode & 077)
        why = "other users can read or change it: chmod 600";
    else if ((count = read(fd, target->secret, sizeof target->secret)) < 16)
        why = "a secret has 16 to 255 characters";
    while (count > 0 && (target->secret[count - 1] == '\n' || target->secret[count - 1] == '\r'))
        count--;
    if (!why && (count < 16 || count == (ssize_t)sizeof target->secret))
        why = "a secret has 16 to 255 characters";
    close(fd);
    target->secret_length = count > 0 ? (size_t)count : 0;
    return why ? fail(error, GORDIAN_STATUS_INPUT, "cannot use the secret in '%s': %s", path, why)
               : GORDIAN_OK;
}

/* HOST[:PORT][/PATH] */
static bool split_url(struct hook_target *target, const char *text)
{
    size_t length = strcspn(text, "/?#");
    const char *path = text + length, *end = text + length, *colon = NULL;
    bool bracket = *text == '[';
    for (const char *c = text; c < end; c++)
        if (*c == ':' && (!bracket || c[-1] == ']'))
            colon = c;
    const char *host = text + bracket, *host_end = colon ? colon : end;
    if (bracket && (host_end <= host || host_end[-1] != ']'))
        return false;
    host_end -= bracket;
    size_t port = colon ? (size_t)(end - colon - 1) : 0;
    if (host_end <= host || (size_t)(host_end - host) >= sizeof target->host ||
        port >= sizeof target->port || memchr(host, '@', (size_t)(host_end - host)))
        return false;
    memcpy(target->host, host, (size_t)(host_end - host));
    snprintf(target->port, sizeof target->port, "%.*s", (int)port, colon ? colon + 1 : "");
    if (!colon)
        snprintf(target->port, sizeof target->port, "%s", target->tls ? "443" : "80");
    int wrote = snprintf(target->path, sizeof target->path, "%s%s", *path == '/' ? "" : "/", path);
    return wrote > 0 && (size_t)wrote < sizeof target->path && !strpbrk(target->path, " \r\n") &&
           strspn(target->port, "0123456789") == strlen(target->port);
}

gordian_status hook_parse(struct hook_target *target, const char *text, const char *secret,
                          gordian_error *error)
{
    target->fd = -1;
    target->tls = strncmp(text, "https://", 8) == 0;
    target->is_url = target->tls || strncmp(text, "http://", 7) == 0;
    if (target->is_url && !split_url(target, text + (target->tls ? 8 : 7)))
        return fail(error, GORDIAN_STATUS_INPUT, "--on-deadlock: '%.200s' is not a URL", text);
    if (!target->is_url && (size_t)snprintf(target->command, sizeof target->command, "%s", text) >=
                               sizeof target->command)
        return fail(error, GORDIAN_STATUS_INPUT, "--on-deadlock: the command is too long");
    return secret ? read_secret(target, secret, error) : GORDIAN_OK;
}

/* ------------------------------------------------------------------ aborting */

void hook_abort(struct hook_target *target)
{
    pthread_mutex_lock(&target->guard);
    target->aborted_at = clock_ns();
    if (target->fd >= 0)
        shutdown(target->fd, SHUT_RDWR);
    if (target->child > 0)
        kill(-target->child, SIGTERM);
    pthread_mutex_unlock(&target->guard);
}

/* Returns false if sending was aborted. */
static bool note_connection(struct hook_target *target, int fd)
{
    pthread_mutex_lock(&target->guard);
    target->fd = fd;
    bool wanted = target->aborted_at == 0;
    pthread_mutex_unlock(&target->guard);
    return wanted;
}

static void close_connection(struct hook_target *target)
{
    pthread_mutex_lock(&target->guard);
    close(target->fd);
    target->fd = -1;
    pthread_mutex_unlock(&target->guard);
}

/* Under the guard, because the process id may be reused at once. */
static bool has_ended(struct hook_target *target, int *status)
{
    pthread_mutex_lock(&target->guard);
    bool ended = waitpid(target->child, status, WNOHANG) != 0;
    if (ended)
        target->child = 0;
    pthread_mutex_unlock(&target->guard);
    return ended;
}

/* Returns when sending was aborted (ns), or 0. */
static uint64_t when_aborted(struct hook_target *target)
{
    pthread_mutex_lock(&target->guard);
    uint64_t aborted_at = target->aborted_at;
    pthread_mutex_unlock(&target->guard);
    return aborted_at;
}

static bool is_hook_late(struct hook_target *target, uint64_t until)
{
    uint64_t aborted_at = when_aborted(target), now = clock_ns();
    return now >= until || (aborted_at && now >= aborted_at + GRACE_NS);
}

/* ------------------------------------------------------------------ a command */

/* Writes the text as long as the command reads. */
static void feed_child(struct hook_target *target, int fd, const char *body, size_t length,
                       uint64_t until)
{
    fcntl(fd, F_SETFL, O_NONBLOCK);
    while (length > 0 && !is_hook_late(target, until)) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        if (poll(&ready, 1, 1000) <= 0)
            continue;
        ssize_t count = write(fd, body, length);
        if (count < 0 && errno != EAGAIN && errno != EINTR)
            break; /* it closed its standard input */
        body += count > 0 ? count : 0;
        length -= count > 0 ? (size_t)count : 0;
    }
}

static gordian_status wait_child(struct hook_target *target, pid_t child, uint64_t until,
                                 gordian_error *error)
{
    int status = 0;
    bool late = false;
    const struct timespec pause = {.tv_nsec = 10000000};
    while (!has_ended(target, &status)) {
        if (!late && is_hook_late(target, until)) {
            kill(-child, SIGKILL);
            late = true;
        }
        nanosleep(&pause, NULL);
    }
    if (late)
        return fail(error, GORDIAN_STATUS_IO, "the command took longer than a minute");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_IO, "the command ended with %s %d",
                WIFEXITED(status) ? "status" : "signal",
                WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static gordian_status run_hook_command(struct hook_target *target, const char *body, size_t length,
                                       gordian_error *error)
{
    char *arguments[] = {"sh", "-c", target->command, NULL};
    uint64_t until = clock_ns() + UINT64_C(1000000) * COMMAND_MS;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t usual, none;
    pid_t child;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return fail(error, GORDIAN_STATUS_IO, "cannot make a pipe: %s", strerror(errno));
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigemptyset(&none); /* this thread blocks all signals; the command must not */
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[0], 0);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                       POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setsigdefault(&how, &usual);
    posix_spawnattr_setsigmask(&how, &none);
    int code = posix_spawn(&child, "/bin/sh", &files, &how, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    close(ends[0]);
    if (code == 0) {
        pthread_mutex_lock(&target->guard);
        target->child = child;
        if (target->aborted_at)
            kill(-child, SIGTERM);
        pthread_mutex_unlock(&target->guard);
        feed_child(target, ends[1], body, length, until);
    }
    close(ends[1]);
    return code ? fail(error, GORDIAN_STATUS_IO, "cannot start the command: %s", strerror(code))
                : wait_child(target, child, until, error);
}

/* ------------------------------------------------------------------ a webhook */

/* On success the target owns the connection. */
static gordian_status connect_to(struct hook_target *target, gordian_error *error)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *found;
    struct timeval limit = {.tv_sec = HOOK_MS / 1000};
    bool wanted = true, connected = false;
    int trouble = getaddrinfo(target->host, target->port, &hints, &found);
    if (trouble)
        return fail(error, GORDIAN_STATUS_IO, "'%s': %s", target->host, gai_strerror(trouble));
    for (const struct addrinfo *place = found; place && wanted && !connected;
         place = place->ai_next) {
        int fd = socket(place->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0) {
            fail(error, GORDIAN_STATUS_IO, "cannot make a socket: %s", strerror(errno));
            continue;
        }
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        wanted = note_connection(target, fd);
        connected = wanted && connect(fd, place->ai_addr, place->ai_addrlen) == 0;
        if (!connected) {
            fail(error, GORDIAN_STATUS_IO, "'%s:%s': %s", target->host, target->port,
                 strerror(errno));
            close_connection(target);
        }
    }
    freeaddrinfo(found);
    return connected ? GORDIAN_OK : GORDIAN_STATUS_IO;
}

static gordian_status fail_tls(const char *what, gordian_error *error)
{
    char text[160] = "";
    unsigned long code = ERR_get_error();
    if (code)
        ERR_error_string_n(code, text, sizeof text);
    ERR_clear_error();
    return fail(error, GORDIAN_STATUS_IO, "TLS: %s %s", what, text);
}

/* Verifies the server with the system's certificates and the host of the URL. */
static SSL *start_tls(SSL_CTX *context, const char *host, int fd)
{
    SSL *tls = SSL_new(context);
    if (tls && SSL_set_tlsext_host_name(tls, host) == 1 && SSL_set1_host(tls, host) == 1 &&
        SSL_set_fd(tls, fd) == 1 && SSL_connect(tls) == 1)
        return tls;
    SSL_free(tls);
    return NULL;
}

static bool send_all(int fd, SSL *tls, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t count = tls ? SSL_write(tls, bytes, length > 1 << 14 ? 1 << 14 : (int)length)
                            : send(fd, bytes, length, MSG_NOSIGNAL);
        if (count <= 0 && !tls && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        bytes += count;
        length -= (size_t)count;
    }
    return true;
}

/* Parses "HTTP/1.1 204 ...". */
static gordian_status read_status(int fd, SSL *tls, gordian_error *error)
{
    char line[64] = "";
    size_t used = 0;
    int status = 0;
    while (used < sizeof line - 1 && !memchr(line, '\n', used)) {
        ssize_t count = tls ? SSL_read(tls, line + used, (int)(sizeof line - 1 - used))
                            : recv(fd, line + used, sizeof line - 1 - used, 0);
        if (count <= 0)
            break;
        used += (size_t)count;
    }
    line[used] = '\0';
    if (sscanf(line, "HTTP/1.%*d %d", &status) != 1)
        return fail(error, GORDIAN_STATUS_IO, "no answer");
    return status / 100 == 2 ? GORDIAN_OK
                             : fail(error, GORDIAN_STATUS_IO, "the answer was %d", status);
}

/* Formats the signature headers, or "". */
static void write_signature(const struct hook_target *target, const char *body, size_t length,
                            char *text, size_t size)
{
    gordian_allocator memory = memory_allocator(NULL);
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned digest_length = 0;
    char stamp[32], hex[2 * EVP_MAX_MD_SIZE + 1] = "";
    size_t stamp_length = (size_t)snprintf(stamp, sizeof stamp, "%lld.", (long long)time(NULL));
    unsigned char *whole =
        target->secret_length ? memory_alloc(&memory, stamp_length + length) : NULL;
    *text = '\0';
    if (!whole)
        return;
    memcpy(whole, stamp, stamp_length);
    memcpy(whole + stamp_length, body, length);
    if (HMAC(EVP_sha256(), target->secret, (int)target->secret_length, whole, stamp_length + length,
             digest, &digest_length)) {
        for (unsigned i = 0; i < digest_length; i++)
            snprintf(hex + 2 * i, 3, "%02x", digest[i]);
        snprintf(text, size, "X-Gordian-Timestamp: %.*s\r\nX-Gordian-Signature: sha256=%s\r\n",
                 (int)stamp_length - 1, stamp, hex);
    }
    memory_free(&memory, whole);
}

static gordian_status post_over(const struct hook_target *target, int fd, SSL *tls,
                                const char *body, size_t length, gordian_error *error)
{
    char head[2000], signature[200];
    bool colon = strchr(target->host, ':') != NULL;
    write_signature(target, body, length, signature, sizeof signature);
    int size = snprintf(head, sizeof head,
                        "POST %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nUser-Agent: gordian\r\n"
                        "Content-Type: application/json\r\nContent-Length: %zu\r\n%s"
                        "Connection: close\r\n\r\n",
                        target->path, colon ? "[" : "", target->host, colon ? "]" : "",
                        target->port, length, signature);
    if (size < 0 || (size_t)size >= sizeof head)
        return fail(error, GORDIAN_STATUS_INPUT, "the URL is too long");
    if (target->secret_length && !signature[0])
        return fail(error, GORDIAN_STATUS_IO, "the signature could not be computed");
    if (!send_all(fd, tls, head, (size_t)size) || !send_all(fd, tls, body, length))
        return tls ? fail_tls("sending failed:", error)
                   : fail(error, GORDIAN_STATUS_IO, "sending failed: %s", strerror(errno));
    return read_status(fd, tls, error);
}

static gordian_status post_tls(const struct hook_target *target, int fd, const char *body,
                               size_t length, gordian_error *error)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    gordian_status status;
    if (!context || SSL_CTX_set_default_verify_paths(context) != 1) {
        SSL_CTX_free(context);
        return fail_tls("no context:", error);
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL *tls = start_tls(context, target->host, fd);
    if (tls)
        status = post_over(target, fd, tls, body, length, error);
    else
        status = fail_tls("refused:", error);
    SSL_free(tls);
    SSL_CTX_free(context);
    return status;
}

static gordian_status post_to_url(struct hook_target *target, const char *body, size_t length,
                                  gordian_error *error)
{
    TRY(connect_to(target, error));
    gordian_status status = target->tls ? post_tls(target, target->fd, body, length, error)
                                        : post_over(target, target->fd, NULL, body, length, error);
    close_connection(target);
    return status;
}

/* An aborted connection or command reports misleading errors, so replace them. */
gordian_status hook_send(struct hook_target *target, const char *body, size_t length,
                         gordian_error *error)
{
    gordian_status status = target->is_url ? post_to_url(target, body, length, error)
                                           : run_hook_command(target, body, length, error);
    return status != GORDIAN_OK && when_aborted(target)
               ? fail(error, GORDIAN_STATUS_IO, "sending was aborted")
               : status;
}
