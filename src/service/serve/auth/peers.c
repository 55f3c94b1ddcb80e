#define _GNU_SOURCE /* struct ucred */
/* Credentials of the peer of a Unix socket, and addresses to listen on. */
#include "service/serve/auth/auth.h"

#include "foundation/base/error.h"
#include "foundation/base/io/reader.h"
#include "foundation/base/memory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NO_GROUP      ((gid_t)-1)
#define GROUPS_MAX    65536 /* the kernel's limit for one process */
#define WORD_MAX      256
#define IDS_MAX       1024
#define LOOKUP_BUFFER 16384

/* ------------------------------------------------------------------ names and numbers */

static bool find_id(const char *name, bool group, uint32_t *id)
{
    char buffer[LOOKUP_BUFFER];
    struct passwd user, *found_user = NULL;
    struct group entry, *found_group = NULL;
    if (group ? getgrnam_r(name, &entry, buffer, sizeof buffer, &found_group) != 0 || !found_group
              : getpwnam_r(name, &user, buffer, sizeof buffer, &found_user) != 0 || !found_user)
        return false;
    *id = group ? entry.gr_gid : user.pw_uid;
    return true;
}

static gordian_status parse_id(const char *text, size_t length, bool group, uint32_t *id,
                               gordian_error *error)
{
    char name[WORD_MAX];
    const char *why;
    uint64_t number;
    if (length == 0 || length >= sizeof name)
        return fail(error, GORDIAN_STATUS_INPUT, "'%.*s': expected %s with commas between them",
                    (int)(length < 40 ? length : 40), text, group ? "groups" : "users");
    memcpy(name, text, length);
    name[length] = '\0';
    if (parse_u64(text, length, &number, &why) && number < UINT32_MAX) {
        *id = (uint32_t)number;
        return GORDIAN_OK;
    }
    if (find_id(name, group, id))
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_INPUT, "no such %s: '%s'", group ? "group" : "user", name);
}

/* Parses "adm,27" into *ids. */
static gordian_status parse_ids(const char *list, bool group, uint32_t **ids, size_t *count,
                                gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    size_t room = 0;
    while (list) {
        const char *comma = strchr(list, ',');
        size_t length = comma ? (size_t)(comma - list) : strlen(list);
        if (*count == IDS_MAX)
            return fail(error, GORDIAN_STATUS_INPUT, "too many %s: at most %d",
                        group ? "groups" : "users", IDS_MAX);
        if (!memory_grow(&memory, ids, &room, *count + 1, sizeof **ids))
            return fail_memory(error);
        TRY(parse_id(list, length, group, &(*ids)[*count], error));
        ++*count;
        list = comma ? comma + 1 : NULL;
    }
    return GORDIAN_OK;
}

_Static_assert(sizeof(uid_t) == sizeof(uint32_t) && sizeof(gid_t) == sizeof(uint32_t),
               "ids of users and groups have 32 bits");

gordian_status auth_peers_open(struct auth_peers *peers, const char *socket_group,
                               const char *users, const char *groups, gordian_error *error)
{
    *peers = (struct auth_peers){.socket_group = NO_GROUP};
    gordian_status status = GORDIAN_OK;
    if (socket_group)
        status = parse_id(socket_group, strlen(socket_group), true, &peers->socket_group, error);
    THEN(status, parse_ids(users, false, &peers->users, &peers->user_count, error));
    THEN(status, parse_ids(groups, true, &peers->groups, &peers->group_count, error));
    if (status != GORDIAN_OK)
        auth_peers_close(peers);
    return status;
}

void auth_peers_close(struct auth_peers *peers)
{
    gordian_allocator memory = memory_allocator(NULL);
    memory_free_all(&memory, peers->users, peers->groups);
    *peers = (struct auth_peers){.socket_group = NO_GROUP};
}

mode_t auth_peers_mode(const struct auth_peers *peers)
{
    if (peers->user_count || peers->group_count)
        return 0666;
    return peers->socket_group == NO_GROUP ? 0600 : 0660;
}

/* ------------------------------------------------------------------ the peer */

static bool is_named_group(const struct auth_peers *peers, gid_t group)
{
    if (peers->socket_group != NO_GROUP && group == peers->socket_group)
        return true;
    for (size_t i = 0; i < peers->group_count; i++)
        if (peers->groups[i] == group)
            return true;
    return false;
}

/* Is the peer in a named group by its supplementary groups? They are those at the time of connect.
 */
static bool in_other_group(const struct auth_peers *peers, int fd)
{
#ifdef SO_PEERGROUPS
    gordian_allocator memory = memory_allocator(NULL);
    socklen_t size = 0;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) == 0 || errno != ERANGE ||
        size > GROUPS_MAX * sizeof(gid_t))
        return false;
    gid_t *groups = memory_alloc(&memory, size);
    bool found = false;
    if (groups && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) == 0)
        for (size_t i = 0; i < size / sizeof *groups && !found; i++)
            found = is_named_group(peers, groups[i]);
    memory_free(&memory, groups);
    return found;
#else
    (void)peers;
    (void)fd;
    return false;
#endif
}

bool auth_peer(const struct auth_peers *peers, int fd, uid_t *uid)
{
    struct ucred who;
    socklen_t size = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
        return false;
    if (uid)
        *uid = who.uid;
    if (who.uid == geteuid() || who.uid == 0)
        return true;
    for (size_t i = 0; i < peers->user_count; i++)
        if (peers->users[i] == who.uid)
            return true;
    if (peers->socket_group == NO_GROUP && peers->group_count == 0)
        return false;
    return is_named_group(peers, who.gid) || in_other_group(peers, fd);
}

/* ------------------------------------------------------------------ addresses */

bool auth_is_loopback(const char *host)
{
    struct in_addr four;
    struct in6_addr six;
    if (strcmp(host, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, host, &four) == 1)
        return ntohl(four.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, host, &six) != 1)
        return false;
    return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
}

gordian_status auth_check_address(const struct auth *auth, const char *host, bool tls,
                                  bool insecure, gordian_error *error)
{
    if (auth_is_loopback(host))
        return GORDIAN_OK;
    if (!auth_required(auth))
        return fail(error, GORDIAN_STATUS_INPUT,
                    "cannot listen on %s without tokens, as other machines could do "
                    "anything: give a token file (--token-file)",
                    *host ? host : "all addresses");
    if (!tls && !insecure)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "tokens would be sent unencrypted on %s: give a certificate (--tls-cert, "
                    "--tls-key), or use --insecure behind a proxy that encrypts",
                    *host ? host : "all addresses");
    return GORDIAN_OK;
}

gordian_status auth_check_socket(const struct auth *auth, int fd, bool tls, bool insecure,
                                 gordian_error *error)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    char host[INET6_ADDRSTRLEN];
    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return fail(error, GORDIAN_STATUS_IO, "cannot examine a listening socket: %s",
                    strerror(errno));
    if (address.ss_family == AF_UNIX)
        return GORDIAN_OK; /* the mode of its file decides */
    const void *where = address.ss_family == AF_INET6
                            ? (const void *)&((struct sockaddr_in6 *)&address)->sin6_addr
                            : (const void *)&((struct sockaddr_in *)&address)->sin_addr;
    if (!inet_ntop(address.ss_family, where, host, sizeof host))
        return fail(error, GORDIAN_STATUS_INPUT,
                    "a listening socket has an unknown address family");
    return auth_check_address(auth, host, tls, insecure, error);
}
