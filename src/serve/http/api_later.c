/* Answers that a thread looks for: the connection waits, the loop does not. */
#include "serve/http/api.h"

#include "base/memory.h"

struct api_later {
    struct api *api;
    struct http_connection *connection;
    struct question *question;
    int missing; /* a status: there is no such thing */
    const char *said;
};

struct api_later *api_later_new(struct api_call *call, int missing, const char *said)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct api_later *later = memory_alloc(&memory, sizeof *later);
    if (later)
        *later = (struct api_later){call->api, call->connection, NULL, missing, said};
    return later;
}

/* The answer, as a status. */
static int take_answer(struct api_call *call, const struct api_later *later)
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

static void drop_later(struct api_later *later)
{
    gordian_allocator memory = memory_allocator(NULL);
    question_forget(later->question);
    memory_free(&memory, later);
}

static void on_gone(void *context)
{
    drop_later(context);
}

void api_later_answer(void *context)
{
    struct api_later *later = context;
    struct http_connection *connection = later->connection;
    struct api_call call = {.api = later->api, .connection = connection, .out = {.fd = -1}};
    api_reply(&call, take_answer(&call, later));
    drop_later(later);
    http_go_on(connection);
}

int api_later_begin(struct api_call *call, struct api_later *later, struct question *question)
{
    int status = API_LATER;
    later->question = question;
    if (!question)
        status = api_fail(call, 503, "too many such questions are being answered already");
    else if (question_is_answered(question))
        status = take_answer(call, later);
    if (status == API_LATER)
        http_wait(call->connection, on_gone, later);
    else
        drop_later(later);
    return status;
}
