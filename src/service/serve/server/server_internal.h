/* What server.c (the loop) and server/open.c (listeners, recovery) share. */
#pragma once

#include "service/serve/server/server.h"

#include <sys/un.h>

#define SYSTEMD_FIRST  3 /* descriptor that systemd hands over */
#define SERVER_TICK_MS 100
#define SERVER_STOP_MS 5000 /* for the last answers to be read */

/* A socket that systemd hands over, and what it is for: by its name, HTTP; otherwise the protocol.
 */
struct inherited {
    bool http, is_unix;
    struct sockaddr_un address; /* if it is one */
};

/* GORDIAN_STATUS_INPUT: it does not listen, or there are too many of them. (Here for tests.) */
gordian_status server_inherit(const struct systemd *systemd, int fd, struct inherited *socket,
                              gordian_error *error);

/* The state is as it was last committed: this server leads from here on. */
gordian_status server_resume(struct server *server, gordian_error *error);

/* ---- check.c: options that are wrong, before anything is made */

/* Addresses and the path of the socket; tokens and certificates have been read. */
gordian_status server_check_options(struct server *server, gordian_error *error);
#define SERVER_HOST_MAX 256
/* ADDR:PORT, [ADDR]:PORT or PORT: if it may be listened on, its host, and what it stands for, for
 * freeaddrinfo. */
struct addrinfo;
gordian_status server_resolve(const struct server *server, const char *text,
                              char host[SERVER_HOST_MAX], struct addrinfo **list,
                              gordian_error *error);
/* The first address of a list with commas; *list: what is behind it. */
gordian_status server_next_address(const char **list, char *one, size_t size, gordian_error *error);
/* Can there be a socket at this path? */
gordian_status server_check_path(const char *path, gordian_error *error);

/* ---- cluster.c: several servers on one store */

/* What clients shall call this one. */
void server_name(struct server *server);
/* After recovery: does it lead? */
gordian_status server_take_role(struct server *server, gordian_error *error);
/* The store has something to tell: what others have done, or that they lead. */
void server_follow(struct server *server);
/* Gives the lead to another, if there is one. */
void server_hand_over(struct server *server);

/* ---- tell.c: who is told of deadlocks */

/* From now on the log tells of them, and the hook. */
void server_watch(struct server *server);
/* When it begins to lead: of those that stand, and of what another had not told. */
gordian_status server_tell_before(struct server *server, gordian_error *error);
/* Writes down what the hook is done with. */
void server_keep_told(struct server *server);
/* The same once in a while, and what there is to say about it. */
void server_watch_hook(struct server *server);

/* Accepts over TCP as long as there is a place. */
void server_watch_places(struct server *server);
gordian_status server_add_events(struct server *server, gordian_error *error);
void server_remove_events(struct server *server);
/* Begins a snapshot, unless one is being made. `now`: it must be whole when this returns. */
void server_snapshot(struct server *server, bool now);
/* Gives up the one that is being made. */
void server_snapshot_stop(struct server *server);
