/* Deferred responses: a thread prepares them, the connection waits, and the event loop continues.
 */
#include "service/serve/http/api.h"

#include "foundation/base/memory.h"

#define APART_MAX 64 /* long responses queued for the thread; the loop writes further ones */

struct api_deferred {
    struct api *api;
    struct http_connection *connection;
    struct question *question;
    int missing; /* status for GORDIAN_STATUS_END */
    const char *said;
    uint64_t number; /* record to be committed before it is sent; 0: none */
};

struct api_deferred *api_deferred_new(struct api_call *call, int missing, const char *said)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct api_deferred *later = memory_alloc(&memory, sizeof *later);
    if (later)
        *later = (struct api_deferred){call->api, call->connection, NULL, missing, said, 0};
    return later;
}

/* Takes the result. Returns a status. */
static int take_deferred_answer(struct api_call *call, const struct api_deferred *later)
{
    gordian_error error;
    struct output answer;
    switch (question_answer(later->question, &answer, &error)) {
    case GORDIAN_OK:
        output_close(&call->out);
        call->out = answer;
        return 200;
    case GORDIAN_STATUS_END:
        return api_fail(call, later->missing, "%.200s", later->said ? later->said : error.message);
    default:
        return api_broken(call, &error);
    }
}

/* Frees a response that was not asked for, or whose client has closed. NULL is allowed. */
static void api_deferred_drop(void *context)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct api_deferred *later = context;
    if (!later)
        return;
    question_forget(later->question);
    memory_free(&memory, later);
}

void api_deferred_answer(void *context)
{
    struct api_deferred *later = context;
    struct http_connection *connection = later->connection;
    struct api_call call = {.api = later->api, .connection = connection, .out = {.fd = -1}};
    int status = take_deferred_answer(&call, later);
    uint64_t number = later->number;
    api_deferred_drop(later);
    if (api_reply_kept(&call, status, number))
        http_resume(connection);
}

int api_deferred_begin(struct api_call *call, struct api_deferred *later, struct question *question)
{
    int status = API_LATER;
    later->question = question;
    if (!question)
        status = api_fail(call, 503, "too many such queries are in progress");
    else if (question_is_answered(question))
        status = take_deferred_answer(call, later);
    if (status == API_LATER)
        http_defer(call->connection, api_deferred_drop, later);
    else
        api_deferred_drop(later);
    return status;
}

bool api_write_in_thread(struct api_call *call, const struct question_work *what, int *status)
{
    struct api *api = call->api;
    struct api_deferred *later = api->writers ? api_deferred_new(call, 500, NULL) : NULL;
    struct question *question = NULL;
    if (later) {
        /* The copy contains uncommitted records up to this one. */
        uint64_t number = store_last(api->store);
        later->number = number;
        question = questions_run(api->writers, what, APART_MAX, api_deferred_answer, later);
    }
    if (question)
        *status = api_deferred_begin(call, later, question);
    else
        api_deferred_drop(later);
    return question != NULL;
}
