/*
 * Queries of the incident history. A thread with its own database connection answers them, so that
 * the event loop never waits, however large the history is. The number of open queries is limited,
 * and each examines a limited number of incidents (incidents_page).
 *
 * The event loop calls all functions.
 */
#pragma once

#include "foundation/base/io/output.h"
#include "service/serve/store/incidents_db.h"

#define QUESTIONS_MAX 64 /* asked, answer not taken yet */

struct questions;
struct question;

/* Reads the database in this folder (NULL: none, for questions_run only), and rings the eventfd
 * `bell` when there are answers. With `shared`, it answers each question immediately from there. On
 * failure *out is NULL. */
gordian_status questions_open(struct questions **out, const char *folder,
                              struct incidents_db *shared, int bell, gordian_error *error);
/* All questions must have been forgotten. NULL is allowed. */
void questions_close(struct questions *questions);
/* Calls `done` of all questions with new answers. */
void questions_poll(struct questions *questions);

/* Asks for a page, or with an `id` for that incident and its replay. Copies the texts of the
 * filter. questions_poll calls `done` (may be NULL), unless the answer is immediate; it may forget
 * the question. NULL: too many open questions, or no memory. */
struct question *questions_ask(struct questions *questions, const struct incidents_filter *filter,
                               uint64_t id, void (*done)(void *context), void *context);
/* Runs other long work: the thread calls `work`, which writes a JSON object and a newline. `drop`
 * frees `job` at the end. NULL: too many open questions or no memory; the caller keeps the job. */
struct question_work {
    gordian_status (*work)(void *job, struct output *out, gordian_error *error);
    void (*drop)(void *job);
    void *job;
};

struct question *questions_run(struct questions *questions, const struct question_work *work,
                               unsigned most, void (*done)(void *context), void *context);
bool question_is_answered(const struct question *question);
/* Moves the answer (a JSON object and a newline) to *out, which must not be open. On failure
 * `error` has the reason; GORDIAN_STATUS_END: no incident has that id. */
gordian_status question_answer(struct question *question, struct output *out, gordian_error *error);
/* Discards a question: its answer was taken, or is not needed. NULL is allowed. */
void question_forget(struct question *question);
