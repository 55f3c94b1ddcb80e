/* gordian makespan --json: one object. */
#include "cli/makespan/makespan.h"

static const char *stop_text(gordian_makespan_stop stop)
{
    switch (stop) {
    case GORDIAN_MAKESPAN_STOP_TIME:
        return "time";
    case GORDIAN_MAKESPAN_STOP_MEMORY:
        return "memory";
    case GORDIAN_MAKESPAN_STOP_STOPPED:
        return "interrupted";
    case GORDIAN_MAKESPAN_STOP_DONE:
        break;
    }
    return NULL;
}

static void write_list(struct json *json, const char *key, const uint32_t *values, size_t count)
{
    json_open(json, key, '[');
    for (size_t i = 0; i < count; i++)
        json_u64(json, values[i]);
    json_shut(json);
}

/* Writes the result of the code analysis, and its assumptions. */
void makespan_code_keys(struct makespan *makespan, struct json *json)
{
    const gordian_ptx_answer *ptx = &makespan->ptx;
    uint64_t any = makespan->warps ? makespan_any_path(makespan) : UINT64_MAX;
    json_key_text(json, "source", makespan->source);
    json_key_u64(json, "instructions", ptx->instructions);
    json_key_u64(json, "barriers", ptx->barriers);
    if (any != UINT64_MAX)
        json_key_u64(json, "any_path", any);
    if (any != UINT64_MAX && makespan->mhz > 0)
        json_key_number(json, "any_path_us", (double)any / makespan->mhz);
    const char *lines[MAKESPAN_ASSUMED];
    size_t count = makespan_assumed(makespan, lines);
    json_open(json, "assumed", '[');
    for (size_t i = 0; i < count; i++)
        json_text(json, lines[i]);
    for (size_t i = 0; i < ptx->note_count; i++)
        json_text(json, ptx->notes[i].text);
    json_shut(json);
}

/* Writes keys that are only present for additional questions. */
static void more_keys(struct makespan *makespan, struct json *json,
                      const struct makespan_report *report)
{
    const gordian_makespan_answer *answer = report->answer;
    if (makespan->best)
        json_key_text(json, "goal", "best");
    else if (report->shortest_lower < report->shortest)
        json_key_u64(json, "best_lower", report->shortest_lower);
    if (stop_text(answer->stop))
        json_key_text(json, "stopped", stop_text(answer->stop));
    if (makespan->mhz > 0) {
        json_key_number(json, "lower_us", answer->lower / makespan->mhz);
        json_key_number(json, "upper_us", answer->upper / makespan->mhz);
    }
    if (makespan->issue > 1)
        json_key_u64(json, "issue", makespan->issue);
    if (makespan_varies(makespan))
        write_list(json, "pieces", answer->pieces, answer->witness_count);
    if (makespan->block_warps) {
        json_key_u64(json, "blocks", makespan->blocks);
        json_key_u64(json, "multiprocessors", makespan->multiprocessors);
        json_key_u64(json, "fullest", makespan->fullest);
    }
    if (report->lp.solver) {
        json_open(json, "lp", '{');
        json_key_text(json, "solver", report->lp.solver);
        if (report->lp.found)
            json_key_u64(json, "found", report->lp.found);
        if (report->lp.bound)
            json_key_u64(json, "bound", report->lp.bound);
        json_key_bool(json, "optimal", report->lp.optimal);
        json_key_number(json, "seconds", report->lp.seconds);
        json_shut(json);
    }
    if (makespan->code)
        makespan_code_keys(makespan, json);
}

void makespan_json(struct makespan *makespan, const struct makespan_report *report)
{
    const gordian_makespan_answer *answer = report->answer;
    struct json json;
    json_begin(&json, &makespan->cli->out);
    if (makespan->kernel)
        json_key_text(&json, "kernel", makespan->kernel);
    json_key_u64(&json, "warps", makespan->warps);
    if (!report->problem) {
        makespan_code_keys(makespan, &json);
    } else if (makespan->witness) {
        json_key_u64(&json, "makespan", report->length);
        write_list(&json, "witness", answer->witness, answer->witness_count);
        write_list(&json, "cycles", answer->cycles, answer->witness_count);
    } else {
        json_key_u64(&json, "lower", answer->lower);
        json_key_u64(&json, "upper", answer->upper);
        json_key_bool(&json, "exact", answer->exact);
        json_key_u64(&json, "best", makespan->best ? report->length : report->shortest);
        write_list(&json, "witness", answer->witness, answer->witness_count);
        json_key_text(&json, "engine", answer->engine);
        json_key_u64(&json, "evaluations", answer->evaluations);
        json_key_number(&json, "seconds", answer->seconds);
        more_keys(makespan, &json, report);
    }
    json_end(&json);
}
