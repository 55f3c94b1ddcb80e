/* Answers queries of the incident history in a thread. */
#include "service/serve/store/queries.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/threads/priority.h"
#include "service/serve/store/files.h"
#include "service/serve/store/incident_finding.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define PATTERNS  256
#define COPY_SIZE (GORDIAN_NAME_MAX + 2) /* longer than any name: a cut text matches nothing */

enum question_state {
    QUESTION_ASKED,
    QUESTION_LOOKED_AT, /* the thread works on it */
    QUESTION_ANSWERED,
    QUESTION_TOLD, /* ... and `done` was called */
};

struct question {
    struct questions *of;
    struct question *next;
    struct incidents_filter filter;
    uint64_t id;
    struct question_work work; /* instead of a filter */
    void (*done)(void *context);
    void *context;
    struct output answer;
    gordian_status status;
    gordian_error error;
    enum question_state state; /* this member and the next: under the mutex */
    bool forgotten;
    char system[COPY_SIZE], process[COPY_SIZE], label[COPY_SIZE], systems[PATTERNS];
};

struct questions {
    gordian_allocator memory;
    char folder[4096];
    struct incidents_db *shared; /* not NULL: answer from here, immediately */
    int bell;
    pthread_t thread;
    bool running;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    bool stopping;
    struct question *first, **end; /* all questions, in order */
    unsigned count;
};

/* ---- answers */

static gordian_status write_incident(void *json, const struct incident *incident)
{
    incident_json(json, incident);
    incident_finding_json(json, incident);
    return GORDIAN_OK;
}

static void answer_from(struct incidents_db *db, struct question *question)
{
    struct json json;
    struct output *out = &question->answer;
    if (!output_open(out, -1)) {
        question->status = fail_memory(&question->error);
        return;
    }
    json_begin(&json, out);
    if (question->id)
        question->status = incidents_get(db, question->id, question->filter.systems, write_incident,
                                         &json, &question->error);
    else
        question->status = (question->filter.actions ? actions_page : incidents_page)(
            db, &question->filter, &json, &question->error);
    json_end(&json);
    if (question->status == GORDIAN_OK && out->failure)
        question->status = fail_memory(&question->error);
}

/* ---- the thread */

/* A folder that cannot be read now may be readable later. */
static void answer_one(struct questions *questions, struct incidents_db **db,
                       struct question *question)
{
    question->status = GORDIAN_OK;
    if (question->work.work) {
        question->status =
            output_open(&question->answer, -1)
                ? question->work.work(question->work.job, &question->answer, &question->error)
                : fail_memory(&question->error);
        return;
    }
    if (!*db)
        question->status = incidents_join(db, questions->folder, NULL, &question->error);
    if (question->status == GORDIAN_OK)
        answer_from(*db, question);
    if (question->status == GORDIAN_STATUS_IO) {
        incidents_close(*db);
        *db = NULL;
    }
}

static void *answer_all(void *context)
{
    struct questions *questions = context;
    struct incidents_db *db = NULL;
    priority_late(); /* events take precedence over readers */
    pthread_mutex_lock(&questions->mutex);
    while (!questions->stopping) {
        struct question *question = questions->first;
        while (question && question->state != QUESTION_ASKED)
            question = question->next;
        if (!question) {
            pthread_cond_wait(&questions->wake, &questions->mutex);
            continue;
        }
        question->state = QUESTION_LOOKED_AT;
        pthread_mutex_unlock(&questions->mutex);
        answer_one(questions, &db, question);
        pthread_mutex_lock(&questions->mutex);
        question->state = QUESTION_ANSWERED;
        pthread_mutex_unlock(&questions->mutex);
        bell_ring(questions->bell); /* without the mutex, which the loop needs when it wakes */
        pthread_mutex_lock(&questions->mutex);
    }
    pthread_mutex_unlock(&questions->mutex);
    incidents_close(db);
    return NULL;
}

/* ---- opening and closing */

static gordian_status start_thread(struct questions *questions, const char *folder,
                                   gordian_error *error)
{
    if ((size_t)snprintf(questions->folder, sizeof questions->folder, "%s", folder ? folder : "") >=
        sizeof questions->folder)
        return fail(error, GORDIAN_STATUS_INPUT, "the name of the folder is too long");
    int code = pthread_create(&questions->thread, NULL, answer_all, questions);
    questions->running = code == 0;
    return code ? fail(error, GORDIAN_STATUS_MEMORY, "cannot start a thread: %s", strerror(code))
                : GORDIAN_OK;
}

gordian_status questions_open(struct questions **out, const char *folder,
                              struct incidents_db *shared, int bell, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL); /* used by two threads */
    struct questions *questions = memory_zeroed(&memory, sizeof *questions);
    *out = NULL;
    if (!questions)
        return fail_memory(error);
    questions->memory = memory;
    questions->shared = shared;
    questions->bell = bell;
    questions->end = &questions->first;
    pthread_mutex_init(&questions->mutex, NULL);
    pthread_cond_init(&questions->wake, NULL);
    gordian_status status = shared ? GORDIAN_OK : start_thread(questions, folder, error);
    if (status == GORDIAN_OK)
        *out = questions;
    else
        questions_close(questions);
    return status;
}

/* Removes a question from the list and frees it. The caller holds the mutex. */
static void remove_question(struct questions *questions, struct question *question)
{
    struct question **link = &questions->first;
    while (*link != question)
        link = &(*link)->next;
    *link = question->next;
    if (!*link)
        questions->end = link;
    questions->count--;
    if (question->work.drop)
        question->work.drop(question->work.job);
    output_close(&question->answer);
    memory_free(&questions->memory, question);
}

void questions_close(struct questions *questions)
{
    if (!questions)
        return;
    if (questions->running) {
        pthread_mutex_lock(&questions->mutex);
        questions->stopping = true;
        pthread_cond_signal(&questions->wake);
        pthread_mutex_unlock(&questions->mutex);
        pthread_join(questions->thread, NULL);
    }
    while (questions->first)
        remove_question(questions, questions->first);
    pthread_mutex_destroy(&questions->mutex);
    pthread_cond_destroy(&questions->wake);
    gordian_allocator memory = questions->memory;
    memory_free(&memory, questions);
}

/* ---- asking */

static const char *copy_filter_name(char copy[COPY_SIZE], const char *name)
{
    if (name)
        snprintf(copy, COPY_SIZE, "%s", name);
    return name ? copy : NULL;
}

static void put_question(struct questions *questions, struct question *question)
{
    pthread_mutex_lock(&questions->mutex);
    *questions->end = question;
    questions->end = &question->next;
    questions->count++;
    pthread_cond_signal(&questions->wake);
    pthread_mutex_unlock(&questions->mutex);
}

/* NULL: there are `most` questions already, or no memory. */
static struct question *new_question(struct questions *questions, unsigned most,
                                     void (*done)(void *context), void *context)
{
    struct question *question =
        questions->count < most ? memory_zeroed(&questions->memory, sizeof *question) : NULL;
    if (!question)
        return NULL;
    question->of = questions;
    question->done = done;
    question->context = context;
    question->answer = (struct output){.fd = -1};
    return question;
}

struct question *questions_ask(struct questions *questions, const struct incidents_filter *filter,
                               uint64_t id, void (*done)(void *context), void *context)
{
    struct question *question = new_question(questions, QUESTIONS_MAX, done, context);
    if (!question)
        return NULL;
    question->filter = filter ? *filter : (struct incidents_filter){0};
    question->filter.system = copy_filter_name(question->system, question->filter.system);
    question->filter.process = copy_filter_name(question->process, question->filter.process);
    question->filter.label = copy_filter_name(question->label, question->filter.label);
    if (question->filter.systems) {
        snprintf(question->systems, sizeof question->systems, "%s", question->filter.systems);
        question->filter.systems = question->systems;
    }
    question->id = id;
    if (questions->shared) {
        answer_from(questions->shared, question);
        question->state = QUESTION_TOLD;
    }
    put_question(questions, question);
    return question;
}

struct question *questions_run(struct questions *questions, const struct question_work *work,
                               unsigned most, void (*done)(void *context), void *context)
{
    struct question *question = new_question(questions, most, done, context);
    if (!question)
        return NULL;
    question->work = *work;
    put_question(questions, question);
    return question;
}

/* Returns the first answered question whose `done` was not called; removes forgotten ones. */
static struct question *next_untold(struct questions *questions)
{
    for (struct question *each = questions->first, *next; each; each = next) {
        next = each->next;
        if (each->state != QUESTION_ANSWERED)
            continue;
        if (!each->forgotten) {
            each->state = QUESTION_TOLD;
            return each;
        }
        remove_question(questions, each);
    }
    return NULL;
}

void questions_poll(struct questions *questions)
{
    for (;;) {
        pthread_mutex_lock(&questions->mutex);
        struct question *question = next_untold(questions);
        pthread_mutex_unlock(&questions->mutex);
        if (!question)
            return;
        if (question->done)
            question->done(question->context);
    }
}

bool question_is_answered(const struct question *question)
{
    struct questions *questions = question->of;
    pthread_mutex_lock(&questions->mutex);
    bool answered = question->state >= QUESTION_ANSWERED;
    pthread_mutex_unlock(&questions->mutex);
    return answered;
}

gordian_status question_answer(struct question *question, struct output *out, gordian_error *error)
{
    if (question->status != GORDIAN_OK) {
        *error = question->error;
        error->status = question->status;
        return question->status;
    }
    *out = question->answer;
    question->answer = (struct output){.fd = -1};
    return GORDIAN_OK;
}

void question_forget(struct question *question)
{
    if (!question)
        return;
    struct questions *questions = question->of;
    pthread_mutex_lock(&questions->mutex);
    question->forgotten = true;
    if (question->state != QUESTION_LOOKED_AT)
        remove_question(questions, question);
    pthread_mutex_unlock(&questions->mutex);
}
