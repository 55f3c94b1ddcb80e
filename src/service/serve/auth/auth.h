/* Who may talk to the service: tokens for TCP and HTTP, the peer's user and groups on the Unix
 * socket, cookies for browsers.
 *
 * A token file has one token a line, `#` starts a comment:
 *
 *     NAME RIGHTS TOKEN [key=value ...]        grafana read 7b0c... systems=shop-*,stock
 *
 * RIGHTS is `read` (look, ask, subscribe), `write` (everything), or with commas between `send`
 * (that and send events), `administer` (and open and close systems), `end-others` (and end
 * processes of other sessions). The numbers are those of enum service_rights. A token has at least
 * 16 characters. Behind it: `systems=` (patterns of the names of systems, with commas; no others
 * are there for it), and what all sessions with this token may have together: `max-systems=`,
 * `max-names=`, `max-memory=` (bytes, or 512M), `max-events=` (a second). Only digests are kept,
 * and a token that is presented is compared with all of them in the same time, whether it is right
 * or not.
 */
#pragma once

#include <gordian/gordian.h>

#include <sys/types.h>

enum auth_rights {
    AUTH_NONE = 0,
    AUTH_READ = 1,
    AUTH_SEND = 3, /* each includes those before it, but not one another */
    AUTH_ADMINISTER = 7,
    AUTH_END_OTHERS = 11,
    AUTH_WRITE = 15, /* all of them */
};

/* ------------------------------------------------------------------ tokens */

#define AUTH_TOKEN_MIN   16
#define AUTH_TOKEN_MAX   512
#define AUTH_TOKENS_MAX  256
#define AUTH_NAME_MAX    63
#define AUTH_SYSTEMS_MAX 255

/* What a token is good for. Texts are valid until the next reload. */
struct auth_grant {
    enum auth_rights rights;
    const char *name;    /* "" without tokens */
    const char *systems; /* patterns with commas between; "": all */
    uint64_t max_systems, max_names, max_memory, max_events; /* 0: no limit of its own */
};

struct auth;

/* `path` NULL: no tokens, everybody who gets through to a listener may do everything. Refuses a
 * file that others than its owner can read. */
gordian_status auth_open(struct auth **out, const char *path, gordian_error *error);
/* Reads the file again; on failure the old tokens stay. Cookies of tokens that are gone end. */
gordian_status auth_reload(struct auth *auth, gordian_error *error);
void auth_close(struct auth *auth);

/* Are tokens needed at all? */
bool auth_required(const struct auth *auth);
/* Grows with every reload: what was permitted before may not be any more. */
unsigned auth_generation(const struct auth *auth);
/* What a token permits: AUTH_NONE for a wrong one. */
enum auth_rights auth_token(const struct auth *auth, const char *token, size_t length,
                            struct auth_grant *grant);
/* Does one of the patterns, with commas between, fit this name? "" fits all. */
bool auth_fits(const char *patterns, const char *name);

/* ------------------------------------------------------------------ cookies */

#define AUTH_COOKIE_SIZE  65 /* characters and NUL */
#define AUTH_COOKIE_HOURS 12
#define AUTH_COOKIES_MAX  1024 /* the oldest ends first */

/* A new cookie for whoever presented this token; AUTH_NONE if it is wrong. `now` in ms, of any
 * clock that never goes back. */
enum auth_rights auth_login(struct auth *auth, const char *token, size_t length, uint64_t now,
                            char cookie[AUTH_COOKIE_SIZE]);
enum auth_rights auth_cookie(const struct auth *auth, const char *cookie, size_t length,
                             uint64_t now, struct auth_grant *grant);
void auth_logout(struct auth *auth, const char *cookie, size_t length);

/* ------------------------------------------------------------------ peers */

/* Who may use the Unix socket: the service's own user and root always; then whoever is named. */
struct auth_peers {
    gid_t socket_group; /* (gid_t)-1: none; its members may */
    uid_t *users;
    size_t user_count;
    gid_t *groups;
    size_t group_count;
};

/* `socket_group`: a name or number, or NULL; `users`, `groups`: names or numbers with commas
 * between, or NULL. */
gordian_status auth_peers_open(struct auth_peers *peers, const char *socket_group,
                               const char *users, const char *groups, gordian_error *error);
void auth_peers_close(struct auth_peers *peers);
/* The socket file's mode: 0600; 0660 with a group; 0666 when the credentials decide. */
mode_t auth_peers_mode(const struct auth_peers *peers);
/* May the process at the other end of this Unix socket talk to us? *uid (may be NULL) is who it
 * is. */
bool auth_peer(const struct auth_peers *peers, int fd, uid_t *uid);

/* ------------------------------------------------------------------ addresses */

/* Is this address, as it stands in ADDR:PORT, this machine only? 127.0.0.0/8, ::1, localhost. (Here
 * for tests.) */
bool auth_is_loopback(const char *host);
/* May we listen there? Beyond this machine only with tokens, and those only over TLS, unless
 * `insecure` says that something else keeps them secret. GORDIAN_STATUS_INPUT says what is missing.
 */
gordian_status auth_check_address(const struct auth *auth, const char *host, bool tls,
                                  bool insecure, gordian_error *error);
/* The same for a socket that listens already. */
gordian_status auth_check_socket(const struct auth *auth, int fd, bool tls, bool insecure,
                                 gordian_error *error);
