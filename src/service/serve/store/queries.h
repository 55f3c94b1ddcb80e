/*
 * Questions about the history of incidents, answered by a thread of their own with a connection of
 * its own: however large the history is, the loop waits for none of them. What is under way has a
 * limit, and each question looks at so many incidents only (incidents_page).
 *
 * Everything here is called by the loop.
 */
#pragma once

#include "foundation/base/io/output.h"
#include "service/serve/store/incidents_db.h"

#define QUESTIONS_MAX 64 /* asked, and their answers not taken */

struct questions;
struct question;

/* Of the database in this folder (NULL: of none, for questions_run alone); `bell`: an eventfd to be
 * rung when there are answers. Or of `shared`: then each question is answered as soon as it is
 * asked. On failure *out is NULL. */
gordian_status questions_open(struct questions **out, const char *folder,
                              struct incidents_db *shared, int bell, gordian_error *error);
/* Those that were asked must have been forgotten. NULL is fine. */
void questions_close(struct questions *questions);
/* Tells those who asked of answers that have come. */
void questions_poll(struct questions *questions);

/* Asks for a page, or with an `id` for that incident and its replay. The texts of the filter are
 * copied. `done` (may be NULL) is called by questions_poll; not if the answer is there at once. It
 * may forget the question. NULL: too many are under way, or there is no memory. */
struct question *questions_ask(struct questions *questions, const struct incidents_filter *filter,
                               uint64_t id, void (*done)(void *context), void *context);
/* Something else that takes its time: `work` is called by the thread, and writes a JSON object and
 * a newline. `drop` frees `job` when nobody needs it any more. NULL, and the job is still the
 * caller's: too many are under way, or there is no memory. */
struct question_work {
    gordian_status (*work)(void *job, struct output *out, gordian_error *error);
    void (*drop)(void *job);
    void *job;
};

struct question *questions_run(struct questions *questions, const struct question_work *work,
                               unsigned most, void (*done)(void *context), void *context);
bool question_is_answered(const struct question *question);
/* Moves the answer, a JSON object and a newline, into *out, which is not open. Otherwise why there
 * is none; GORDIAN_STATUS_END: there is no incident of that id. */
gordian_status question_answer(struct question *question, struct output *out, gordian_error *error);
/* Nobody wants to know any more, or the answer was taken. NULL is fine. */
void question_forget(struct question *question);
