/* The session of one `gordian run`: a directory with the tally that watched processes update, and a
 * log of the reports that were printed, counted and suppressed. All reporters of the run share it.
 * Without a session (a service that sets the variables itself) reports are independent.
 *
 * The log is text with one entry per line: "told KIND HASH PID INCIDENT", "again KIND HASH COUNT",
 * "suppressed LINE COUNT PID INCIDENT", "stuck TID", "likely TID". A reporter holds a lock while it
 * works, so that the command can wait for the last one. */
#pragma once

#include "output/report/report.h"
#include "output/report/suppress.h"

struct session {
    int log;     /* -1: none */
    int working; /* locked while a reporter works; -1: none */
};

struct session_totals {
    struct incident_tally tally;
    uint64_t reported[INCIDENT_SUMMARY + 1]; /* by kind */
};

/* ---- the command's side */

/* Creates the directory; `folder` receives its path. False: see errno. */
bool session_create(char *folder, size_t size);
void session_remove(const char *folder);
/* Waits until no reporter works, at most `patience_ms`. */
void session_settle(const char *folder, unsigned patience_ms);
/* Reads the totals of the session. */
void session_totals(const char *folder, struct session_totals *totals);
/* Called for each report that recurred, and for each suppression that matched. */
struct session_reader {
    void (*again)(void *context, unsigned kind, unsigned ordinal, uint64_t count);
    void (*suppressed)(void *context, unsigned line, uint64_t count);
    void *context;
};
void session_read(const char *folder, const struct session_reader *reader);

/* Was the thread reported as one that can never continue? */
bool session_is_stuck(const char *folder, uint32_t tid, bool likely);

/* ---- a reporter's side */

/* `folder` NULL or missing: opens a session without memory. */
void session_open(struct session *session, const char *folder);
void session_close(struct session *session);
/* The number of a report among the reports of its kind (`ordinal`) and among all reports; 0: not
 * counted. `again`: another process had the same report, which was printed under that number. */
struct session_number {
    unsigned ordinal, sequence;
    bool again;
};
struct session_number session_number_report(struct session *session, const struct report *report);
void session_suppressed(struct session *session, const struct report *report, unsigned line);
/* Records at a program's end how often each report recurred. */
void session_add_recurrences(struct session *session, const struct report *report);
