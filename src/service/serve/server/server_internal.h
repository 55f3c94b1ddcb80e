/* Shared by server.c (the event loop) and open.c (listeners, recovery). */
#pragma once

#include "service/serve/server/server.h"

#include <sys/un.h>

#define SYSTEMD_FIRST  3 /* first descriptor passed by systemd */
#define SERVER_TICK_MS 100
#define SERVER_STOP_MS 5000 /* time for clients to read the last answers */

/* A socket passed by systemd. Its name decides: HTTP or the protocol. */
struct inherited {
    bool http, is_unix;
    struct sockaddr_un address; /* if it is a Unix socket */
};

/* GORDIAN_STATUS_INPUT: it is not listening, or there are too many. (Declared for tests.) */
gordian_status server_inherit(const struct systemd *systemd, int fd, struct inherited *socket,
                              gordian_error *error);

/* Resumes as leader from the state as last committed. */
gordian_status server_resume(struct server *server, gordian_error *error);

/* ---- check.c: checks options before anything is made */

/* Checks addresses and the path of the socket. Tokens and certificates must have been read. */
gordian_status server_check_options(struct server *server, gordian_error *error);
#define SERVER_HOST_MAX 256
/* Resolves ADDR:PORT, [ADDR]:PORT or PORT, if it is permitted: its host, and its addresses for
 * freeaddrinfo. */
struct addrinfo;
gordian_status server_resolve(const struct server *server, const char *text,
                              char host[SERVER_HOST_MAX], struct addrinfo **list,
                              gordian_error *error);
/* Copies the first address of a comma-separated list, and advances *list. */
gordian_status server_next_address(const char **list, char *one, size_t size, gordian_error *error);
/* Can a socket be made at this path? */
gordian_status server_check_path(const char *path, gordian_error *error);

/* ---- cluster.c: several servers on one store */

/* Determines the address announced to clients. */
void server_name(struct server *server);
/* After recovery: starts as leader or standby. */
gordian_status server_take_role(struct server *server, gordian_error *error);
/* Handles changes of the store: records of other servers, or the leadership. */
void server_apply_committed(struct server *server);
/* Steps down if there is another server. */
void server_hand_over(struct server *server);

/* ---- notify_deadlock.c: notifications of deadlocks */

/* Starts logging and sending them. */
void server_watch(struct server *server);
/* A new leader: reports open deadlocks, and sends notifications that are still pending. */
gordian_status server_send_pending(struct server *server, gordian_error *error);
/* Records which notifications are done. */
void server_record_sent(struct server *server);
/* The same periodically, with log messages about failures. */
void server_watch_hook(struct server *server);

/* Pauses and resumes accepting over TCP. */
void server_update_accepting(struct server *server);
gordian_status server_add_events(struct server *server, gordian_error *error);
void server_remove_events(struct server *server);
/* Begins a snapshot unless one is being made. `now`: completes it before returning. */
void server_snapshot(struct server *server, bool now);
/* Cancels the current snapshot. */
void server_snapshot_stop(struct server *server);
