/* What one `gordian run` and all its reporters know together: a folder with the tally that the
 * watched processes add to, and a log of what was told, counted and suppressed. Without one (a
 * service that sets the variables itself) every report stands for itself.
 *
 * The log is text, a line an entry: "told KIND HASH PID INCIDENT", "again KIND HASH COUNT",
 * "suppressed LINE COUNT PID INCIDENT", "stuck TID", "likely TID". Reporters hold it locked while
 * they work, so that the command can wait for the last one. */
#pragma once

#include "output/report/report.h"
#include "output/report/suppress.h"

struct session {
    int log;     /* -1: none */
    int working; /* held while a reporter is at work; -1 */
};

struct session_totals {
    struct incident_tally tally;
    uint64_t told[INCIDENT_SUMMARY + 1]; /* by kind */
};

/* ---- the command's side */

/* Makes the folder: its path, from the template of mkdtemp. False: errno says why. */
bool session_create(char *folder, size_t size);
void session_remove(const char *folder);
/* Waits until no reporter is at work, `patience_ms` at most. */
void session_settle(const char *folder, unsigned patience_ms);
/* What it came to. */
void session_totals(const char *folder, struct session_totals *totals);
/* Calls for every told report that came back, and every suppression that was hit. */
struct session_reader {
    void (*again)(void *context, unsigned kind, unsigned ordinal, uint64_t count);
    void (*suppressed)(void *context, unsigned line, uint64_t count);
    void *context;
};
void session_read(const char *folder, const struct session_reader *reader);

/* Was this thread told as one that can never go on? */
bool session_is_stuck(const char *folder, uint32_t tid, bool likely);

/* ---- a reporter's side */

/* `folder` NULL or gone: a session that remembers nothing. */
void session_open(struct session *session, const char *folder);
void session_close(struct session *session);
/* A report that is about to be told: its number among those of its kind, and among all; 0 where
 * nobody counts. `again`: another process had the same one, and it was told as that number. */
struct session_number {
    unsigned ordinal, sequence;
    bool again;
};
struct session_number session_told(struct session *session, const struct report *report);
void session_suppressed(struct session *session, const struct report *report, unsigned line);
/* At a program's end: how often each came back. */
void session_folds(struct session *session, const struct report *report);
