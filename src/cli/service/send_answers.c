/* gordian send: handles the service's answers. */
#include "cli/service/send.h"

#include "foundation/base/error.h"

#include <string.h>

/* Errors beyond these are only counted, unless --verbose. */
#define ERRORS_SHOWN 20

static enum send_result result_of(const struct send *send, const gordian_reply *reply)
{
    static const uint8_t outcomes[] = {
        [GORDIAN_OUTCOME_GRANTED] = SEND_GRANTED,   [GORDIAN_OUTCOME_BLOCKED] = SEND_BLOCKED,
        [GORDIAN_OUTCOME_DEADLOCK] = SEND_DEADLOCK, [GORDIAN_OUTCOME_DOOMED] = SEND_DOOMED,
        [GORDIAN_OUTCOME_RELEASED] = SEND_RELEASED, [GORDIAN_OUTCOME_CANCELLED] = SEND_ENDED,
        [GORDIAN_OUTCOME_EXITED] = SEND_ENDED,      [GORDIAN_OUTCOME_REFUSED] = SEND_REFUSED,
    };
    static const uint8_t verdicts[] = {
        [GORDIAN_VERDICT_GRANTED] = SEND_GRANTED,
        [GORDIAN_VERDICT_UNSAFE] = SEND_UNSAFE,
        [GORDIAN_VERDICT_UNAVAILABLE] = SEND_UNAVAILABLE,
        [GORDIAN_VERDICT_RELEASED] = SEND_RELEASED,
        [GORDIAN_VERDICT_CANCELLED] = SEND_ENDED,
        [GORDIAN_VERDICT_EXITED] = SEND_ENDED,
        [GORDIAN_VERDICT_REFUSED] = SEND_REFUSED,
    };
    if (reply->outcome >= (send->avoids ? sizeof verdicts : sizeof outcomes))
        return SEND_OTHER;
    return (enum send_result)(send->avoids ? verdicts : outcomes)[reply->outcome];
}

/* ------------------------------------------------------------------ waiting processes */

enum waits {
    WAITS_NOT,
    WAITS_WELL, /* can still be granted */
    WAITS_DEAD,
};

static bool set_waits(struct send *send, uint32_t process, enum waits waits)
{
    if (process == GORDIAN_NONE || (process >= send->waits_capacity && waits == WAITS_NOT))
        return true;
    if (!memory_grow_zeroed(&send->memory, &send->waits, &send->waits_capacity, (size_t)process + 1,
                            sizeof *send->waits))
        return false;
    uint8_t *before = &send->waits[process];
    send->waiting += (waits == WAITS_WELL) - (*before == WAITS_WELL);
    send->served += waits == WAITS_NOT && *before != WAITS_NOT;
    *before = (uint8_t)waits;
    return true;
}

/* Stores the name of a waiting process: the second word of its line. Its id and its name may have
 * been used before. */
static bool keep_name(struct send *send, uint32_t process, const char *text, size_t size)
{
    const char *end = text + size, *name = (const char *)memchr(text, ' ', size) + 1;
    const char *blank = memchr(name, ' ', (size_t)(end - name));
    size_t length = (size_t)((blank ? blank : end) - name);
    uint32_t known = names_find(&send->names, name, length);
    if (known == process)
        return true;
    if (known != GORDIAN_NONE)
        names_drop(&send->names, known);
    names_drop(&send->names, process);
    return names_put(&send->names, process, name, length);
}

static bool note_waiting(struct send *send, const gordian_reply *reply, enum send_result result,
                         const struct value *answer)
{
    bool good = true;
    size_t i;
    const struct value *name;
    if (reply->waits)
        good =
            set_waits(send, reply->process,
                      result == SEND_DEADLOCK || result == SEND_DOOMED ? WAITS_DEAD : WAITS_WELL);
    if (result == SEND_ENDED) {
        uint64_t served = send->served;
        good = set_waits(send, reply->process, WAITS_NOT);
        send->served = served; /* it cancelled the wait */
    }
    /* Deadlocked processes are not waited for. */
    for (i = 0; (name = value_item(value_find(answer, "deadlocked"), i)) != NULL; i++) {
        const char *text = value_text(name);
        uint32_t id = text ? names_find(&send->names, text, strlen(text)) : GORDIAN_NONE;
        good = good && set_waits(send, id, WAITS_DEAD);
    }
    for (size_t s = 0; s < reply->served_count; s++)
        good = good && set_waits(send, reply->served[s], WAITS_NOT);
    return good;
}

void send_granted(void *context, uint32_t process)
{
    struct send *send = context;
    send->heard = true;
    set_waits(send, process, WAITS_NOT);
    send_report_grant(send, names_text(&send->names, process));
}

/* ------------------------------------------------------------------ events */

static void report_refused(struct send *send, const struct sent_line *line, gordian_status status,
                           const char *message)
{
    struct cli *cli = send->cli;
    uint64_t errors = send->results[SEND_REFUSED];
    send->refused |= send->strict;
    send->refused_status = status;
    if (cli->quiet && !send->strict)
        return;
    if (cli->verbose || send->strict || errors <= ERRORS_SHOWN)
        cli_say_at(cli, send->input.name, line->line, line->column, message);
    else if (errors == ERRORS_SHOWN + 1)
        cli_say(cli, "further errors are only counted; --verbose shows all");
}

static void take_result(struct send *send, const struct sent_line *line, const char *text,
                        const gordian_reply *reply)
{
    enum send_result result = result_of(send, reply);
    struct arena arena = {0};
    const struct value *answer = NULL;
    /* Is the JSON of the answer needed? */
    if (result == SEND_DEADLOCK || result == SEND_DOOMED || result == SEND_REFUSED ||
        (send->all && !send->cli->json))
        answer = service_json_parse(&arena, reply->json, reply->json_length);
    send->events++;
    send->results[result]++;
    send->event_refused = result == SEND_REFUSED;
    if ((reply->waits && !keep_name(send, reply->process, text, line->size)) ||
        !note_waiting(send, reply, result, answer)) {
        fail_memory(&send->failure);
    } else {
        send_report_event(send, line, text, reply, result, answer);
        if (result == SEND_REFUSED)
            report_refused(send, line, GORDIAN_STATUS_INPUT, service_json_text(answer, "message"));
    }
    arena_free(&arena);
}

/* As in a trace: an invalid declaration is bad input, an invalid event is only refused. */
static void take_refusal(struct send *send, const struct sent_line *line,
                         const gordian_reply *reply)
{
    if (reply->code == 0) {
        fail(&send->failure, reply->status, "%s", reply->message);
    } else if (line->label && send->event_refused) { /* the process does not exist */
        send_unlabelled(send, fifo_front(&send->texts), line->size);
    } else if (!line->event) {
        fail_at(&send->failure, reply->status, line->line, line->column, "%s", reply->message);
    } else {
        send->events++;
        send->event_refused = true;
        send->results[SEND_REFUSED]++;
        report_refused(send, line, reply->status, reply->message);
        if (send->cli->json) {
            struct json json;
            json_begin(&json, &send->cli->out);
            json_key_text(&json, "error", reply->message);
            json_key_u64(&json, "code", reply->code);
            json_key_u64(&json, "line", line->line);
            json_key_u64(&json, "column", line->column);
            json_end(&json);
        }
    }
}

void send_answered(void *context, const gordian_reply *reply)
{
    struct send *send = context;
    struct sent_line line = *(struct sent_line *)fifo_front(&send->sent);
    send->heard = true;
    if (send->failure.status == GORDIAN_OK && !send->refused) {
        if (reply->status != GORDIAN_OK)
            take_refusal(send, &line, reply);
        else if (line.event)
            take_result(send, &line, fifo_front(&send->texts), reply);
    }
    fifo_take(&send->sent, sizeof line);
    fifo_take(&send->texts, line.size);
}
