/* What `gordian avoid --json` prints: an object for every event and for every declaration that was
 * not simply taken, and the summary. */
#include "cli/avoid/avoid.h"

static const char *process_name(struct avoid *avoid, uint32_t process, char *buffer)
{
    const char *name = gordian_bank_process_name(avoid->bank, process, buffer);
    return name ? name : "";
}

static void write_processes(struct avoid *avoid, struct json *json, const char *key,
                            const uint32_t *processes, size_t count)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    json_open(json, key, '[');
    for (size_t i = 0; i < count; i++)
        json_text(json, process_name(avoid, processes[i], buffer));
    json_shut(json);
}

/* {"r0":3,"r2":1}: the lacks of the first process among `count`; returns how many they are. */
static size_t write_lacks(struct avoid *avoid, struct json *json, const char *key,
                          const gordian_lack *lacks, size_t count)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    size_t i = 0;
    json_open(json, key, '{');
    for (; i < count && lacks[i].process == lacks[0].process; i++) {
        const char *name = gordian_bank_resource_name(avoid->bank, lacks[i].resource, buffer);
        json_name_u64(json, name ? name : "", lacks[i].units);
    }
    json_shut(json);
    return i;
}

static void write_stuck(struct avoid *avoid, struct json *json)
{
    const gordian_answer *answer = &avoid->answer;
    char buffer[GORDIAN_NAME_MAX + 1];
    size_t next = 0;
    json_open(json, "stuck", '[');
    for (size_t i = 0; i < answer->stuck_count; i++) {
        bool lacks = next < answer->lack_count && answer->lacks[next].process == answer->stuck[i];
        json_open(json, NULL, '{');
        json_key_text(json, "process", process_name(avoid, answer->stuck[i], buffer));
        next += write_lacks(avoid, json, "lacks", answer->lacks + next,
                            lacks ? answer->lack_count - next : 0);
        json_shut(json);
    }
    json_shut(json);
}

static void write_reasons(struct avoid *avoid, struct json *json)
{
    const gordian_answer *answer = &avoid->answer;
    if (answer->verdict == GORDIAN_VERDICT_GRANTED)
        write_processes(avoid, json, "sequence", answer->sequence, answer->sequence_count);
    else if (answer->verdict == GORDIAN_VERDICT_UNSAFE)
        write_stuck(avoid, json);
    else if (answer->verdict == GORDIAN_VERDICT_UNAVAILABLE && answer->lack_count > 0)
        write_lacks(avoid, json, "short", answer->lacks, answer->lack_count);
}

static void write_step(struct avoid *avoid, const gordian_bank_step *step)
{
    const gordian_answer *answer = &avoid->answer;
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
        write_processes(avoid, &json, "granted_to", answer->served, answer->served_count);
    if (!avoid->brief)
        write_reasons(avoid, &json);
    if (step->message)
        json_key_text(&json, "message", step->message);
    json_end(&json);
}

static void write_summary(struct avoid *avoid, const uint32_t *order, size_t count)
{
    const struct avoid_tally *tally = &avoid->tally;
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
        write_processes(avoid, &json, "sequence", order, count);
    json_end(&json);
}

const struct avoid_reporter avoid_json = {write_step, write_summary};
