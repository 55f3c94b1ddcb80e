/*
 * Authentication: tokens for TCP and HTTP, user and group of the peer on the Unix socket, cookies
 * for browsers.
 *
 * A token file has one token per line; `#` starts a comment:
 *
 *     NAME RIGHTS TOKEN [key=value ...]        grafana read 7b0c... systems=shop-*,stock
 *
 * RIGHTS is one of these, or several with commas between them:
 *
 *     read         query and subscribe
 *     send         read, and send events
 *     administer   send, and open and close systems
 *     end-others   send, and end processes of other sessions
 *     write        everything
 *
 * The values are those of enum service_rights. A token has at least 16 characters. After it:
 *
 *     systems=     patterns of system names, with commas; other systems are hidden from the token
 *     max-systems= max-names= max-memory= max-events=
 *                  limits for all sessions of the token together: systems, names, bytes (or 512M),
 *                  events per second (rate limit)
 *
 * Only digests are kept. A token is compared with all of them in constant time.
 */
#pragma once

#include <gordian/gordian.h>

#include <sys/types.h>

enum auth_rights {
    AUTH_NONE = 0,
    AUTH_READ = 1,
    AUTH_SEND = 3, /* includes AUTH_READ */
    AUTH_ADMINISTER = 7,
    AUTH_END_OTHERS = 11,
    AUTH_WRITE = 15, /* all rights */
};

/* ------------------------------------------------------------------ tokens */

#define AUTH_TOKEN_MIN   16
#define AUTH_TOKEN_MAX   512
#define AUTH_TOKENS_MAX  256
#define AUTH_NAME_MAX    63
#define AUTH_SYSTEMS_MAX 255

/* The permissions of a token. Texts are valid until the next reload. */
struct auth_grant {
    enum auth_rights rights;
    const char *name;    /* of the token; "" without tokens */
    const char *systems; /* patterns, with commas between them; "": all */
    uint64_t max_systems, max_names, max_memory, max_events; /* 0: no limit */
};

struct auth;

/* `path` NULL: no tokens; every peer that connects may do everything. Refuses a token file that is
 * accessible to other users than its owner. */
gordian_status auth_open(struct auth **out, const char *path, gordian_error *error);
/* Reads the file again. On failure the old tokens stay. Cookies of removed tokens expire. */
gordian_status auth_reload(struct auth *auth, gordian_error *error);
void auth_close(struct auth *auth);

/* Is a token required? */
bool auth_required(const struct auth *auth);
/* Grows with every reload, as rights may have changed. */
unsigned auth_generation(const struct auth *auth);
/* Returns what a token permits; AUTH_NONE if it is wrong. */
enum auth_rights auth_token(const struct auth *auth, const char *token, size_t length,
                            struct auth_grant *grant);
/* Does one of the patterns, with commas between them, match the name? "" matches every name. */
bool auth_fits(const char *patterns, const char *name);

/* ------------------------------------------------------------------ cookies */

#define AUTH_COOKIE_SIZE  65 /* hexadecimal digits and NUL */
#define AUTH_COOKIE_HOURS 12
#define AUTH_COOKIES_MAX  1024 /* a new one replaces the oldest */

/* Makes a cookie for a token; AUTH_NONE if the token is wrong. `now`: ms of any monotonic clock. */
enum auth_rights auth_login(struct auth *auth, const char *token, size_t length, uint64_t now,
                            char cookie[AUTH_COOKIE_SIZE]);
enum auth_rights auth_cookie(const struct auth *auth, const char *cookie, size_t length,
                             uint64_t now, struct auth_grant *grant);
void auth_logout(struct auth *auth, const char *cookie, size_t length);

/* ------------------------------------------------------------------ peers */

/* Who may use the Unix socket: root, the service's own user, and the users and groups listed here.
 */
struct auth_peers {
    gid_t socket_group; /* its members may connect; (gid_t)-1: none */
    uid_t *users;
    size_t user_count;
    gid_t *groups;
    size_t group_count;
};

/* `socket_group`: a name or number, or NULL. `users`, `groups`: names or numbers with commas
 * between them, or NULL. */
gordian_status auth_peers_open(struct auth_peers *peers, const char *socket_group,
                               const char *users, const char *groups, gordian_error *error);
void auth_peers_close(struct auth_peers *peers);
/* The mode of the socket file: 0600; 0660 with a group; 0666 if the peer's credentials decide. */
mode_t auth_peers_mode(const struct auth_peers *peers);
/* May the process at the other end of this Unix socket connect? *uid (may be NULL): its user. */
bool auth_peer(const struct auth_peers *peers, int fd, uid_t *uid);

/* ------------------------------------------------------------------ addresses */

/* Is the host of ADDR:PORT a loopback address: 127.0.0.0/8, ::1, localhost? (Public for tests.) */
bool auth_is_loopback(const char *host);
/* May the service listen on this address? An address that other machines can reach requires tokens
 * and TLS; `insecure` waives TLS. The error of GORDIAN_STATUS_INPUT says what is missing. */
gordian_status auth_check_address(const struct auth *auth, const char *host, bool tls,
                                  bool insecure, gordian_error *error);
/* The same for a socket that listens already. */
gordian_status auth_check_socket(const struct auth *auth, int fd, bool tls, bool insecure,
                                 gordian_error *error);
