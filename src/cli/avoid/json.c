/* What `gordian avoid --json` prints: an object for every event, for every declaration that was
 * refused or served someone, and a summary. */
#include "output/show/json.h"
#include "cli/avoid/avoid.h"

static void write_step(struct avoid *avoid, const gordian_bank_step *step)
{
    const gordian_answer *answer = &avoid->answer;
    char buffers[2][GORDIAN_NAME_MAX + 1];
    struct labels labels = labels_of_bank(&(struct bank_names){avoid->bank, buffers});
    struct json json;
    json_begin(&json, &avoid->cli->out);
    if (step->kind == GORDIAN_LINE_EVENT) {
        json_key_u64(&json, "seq", step->seq);
        json_key_text(&json, "op", gordian_op_text(step->op));
        json_key_text(&json, "process", step->name);
    } else {
        const char *what = step->kind == GORDIAN_LINE_PROCESS ? "process" : "resource";
        json_key_u64(&json, "line", step->line);
        json_key_text(&json, "op", what);
        json_key_text(&json, what, step->name);
    }
    json_key_text(&json, "result", gordian_verdict_text(answer->verdict));
    if (answer->waits)
        json_key_bool(&json, "waits", true);
    if (answer->verdict == GORDIAN_VERDICT_UNAVAILABLE &&
        answer->reason == GORDIAN_REASON_OUT_OF_TURN)
        json_key_bool(&json, "out_of_turn", true);
    if (answer->served_count)
        json_processes(&json, "granted_to", &labels, answer->served, answer->served_count);
    if (!avoid->brief)
        json_reasons(&json, &labels, answer);
    if (step->message)
        json_key_text(&json, "message", step->message);
    json_end(&json);
}

static void write_summary(struct avoid *avoid, const uint32_t *order, size_t count)
{
    const struct avoid_tally *tally = &avoid->tally;
    char buffers[2][GORDIAN_NAME_MAX + 1];
    struct labels labels = labels_of_bank(&(struct bank_names){avoid->bank, buffers});
    struct json json;
    json_begin(&json, &avoid->cli->out);
    json_open(&json, "summary", '{');
    json_key_u64(&json, "events", tally->events);
    json_key_u64(&json, "granted", tally->granted);
    json_key_u64(&json, "unsafe", tally->unsafe);
    json_key_u64(&json, "unavailable", tally->unavailable);
    json_key_u64(&json, "released", tally->released);
    json_key_u64(&json, "errors", tally->errors);
    if (avoid->queue) {
        uint64_t waiting = 0;
        for (size_t i = 0; i < count; i++)
            waiting += gordian_bank_is_waiting(avoid->bank, order[i]);
        json_key_u64(&json, "served", tally->served);
        json_key_u64(&json, "waiting", waiting);
    }
    json_key_text(&json, "engine", gordian_bank_engine_name(avoid->bank));
    if (!avoid->brief)
        json_processes(&json, "sequence", &labels, order, count);
    json_end(&json);
}

const struct avoid_reporter avoid_json = {write_step, write_summary};
