/* `gordian detect --json`: one object per event, and the summary. */
#include "output/show/json.h"
#include "cli/detect/detect.h"
#include "foundation/base/error.h"
#include "output/finding/from_witness.h"

#include <stdio.h>
#include <string.h>

/* Maximum size of a brief line: each byte of a name takes up to six. */
#define BRIEF_ROOM (2 * PIECE_ROOM + 6 * GORDIAN_NAME_MAX + 40)

/* "recovered": ends processes until none is deadlocked. */
static gordian_status report_recovery(struct detect *detect, struct json *json,
                                      gordian_error *error)
{
    gordian_victim victim;
    gordian_status status;
    json_open(json, "recovered", '[');
    while ((status = gordian_recover_one(detect->system, detect->policy, &victim, error)) ==
           GORDIAN_OK)
        json_victim(json, &detect->labels, detect->policy, &victim);
    json_shut(json);
    return status == GORDIAN_STATUS_END ? GORDIAN_OK : status;
}

static gordian_status write_matrices(struct detect *detect, struct json *json, gordian_error *error)
{
    struct matrices matrices;
    TRY(matrices_open(&matrices, detect->system, &detect->labels, error));
    gordian_status status = matrices_json(&matrices, json, error);
    matrices_close(&matrices);
    return status;
}

static gordian_status write_deadlock(struct detect *detect, struct json *json,
                                     const gordian_step *step, gordian_error *error)
{
    struct finding finding;
    gordian_witness witness;
    TRY(gordian_explain(detect->system, step->event.process, &witness, error));
    bool done = finding_from_witness(&finding, "detect", detect->tally.deadlocks, &detect->labels,
                                     &witness);
    if (done)
        finding_json_member(&finding, json, "finding");
    finding_close(&finding);
    return done ? GORDIAN_OK : fail_memory(error);
}

static gordian_status write_stuck(struct detect *detect, struct json *json,
                                  const gordian_step *step, gordian_error *error)
{
    TRY(detect_list_deadlocked(detect, SIZE_MAX, error));
    json_names(json, "deadlocked", &detect->list);
    if (step->result.outcome == GORDIAN_OUTCOME_DEADLOCK) {
        TRY(write_deadlock(detect, json, step, error));
        if (detect->show == DETECT_SHOW_ALL)
            TRY(write_matrices(detect, json, error));
    }
    return detect->recover ? report_recovery(detect, json, error) : GORDIAN_OK;
}

static void make_piece(struct json_piece *piece, const char *format, const char *text)
{
    piece->length = (size_t)snprintf(piece->text, sizeof piece->text, format, text);
}

static void write_piece(struct output *out, const struct json_piece *piece)
{
    memcpy(out->buffer + out->used, piece->text, sizeof piece->text);
    out->used += piece->length;
}

/* Writes the same as write_event, in few steps. False: not enough space in the buffer. */
static bool write_briefly(struct detect *detect, const gordian_step *step)
{
    struct output *out = &detect->cli->out;
    struct json_piece *op = &detect->pieces.ops[step->event.op];
    struct json_piece *outcome = &detect->pieces.outcomes[step->result.outcome];
    if (!output_has(out, BRIEF_ROOM))
        return false;
    if (op->length == 0)
        make_piece(op, ",\"op\":\"%s\",\"process\":", gordian_op_text(step->event.op));
    if (outcome->length == 0)
        make_piece(outcome, ",\"result\":\"%s\"}\n",
                   gordian_outcome_text((gordian_outcome)step->result.outcome));
    memcpy(out->buffer + out->used, "{\"seq\":", 7);
    out->used += 7;
    output_u64(out, step->seq);
    write_piece(out, op);
    json_quote(out, step->process);
    write_piece(out, outcome);
    return true;
}

static gordian_status write_event(struct detect *detect, const gordian_step *step,
                                  gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    struct json json;
    /* most events serve and block no process and have no message */
    if (step->result.served_count == 0 && !is_stuck(step) && !step->message &&
        write_briefly(detect, step))
        return GORDIAN_OK;
    json_begin(&json, &detect->cli->out);
    json_key_u64(&json, "seq", step->seq);
    json_key_plain(&json, "op", gordian_op_text(step->event.op));
    json_key_text(&json, "process", step->process);
    json_key_plain(&json, "result", gordian_outcome_text((gordian_outcome)step->result.outcome));
    if (step->result.served_count) {
        json_processes(&json, "granted_to", &detect->labels, detect->served,
                       step->result.served_count);
    }
    if (is_stuck(step))
        status = write_stuck(detect, &json, step, error);
    if (step->message)
        json_key_text(&json, "message", step->message);
    json_end(&json);
    return status;
}

/* Writes a separate line before the summary. */
static gordian_status write_last_matrices(struct detect *detect, gordian_error *error)
{
    struct json json;
    json_begin(&json, &detect->cli->out);
    gordian_status status = write_matrices(detect, &json, error);
    json_end(&json);
    return status;
}

static gordian_status write_summary(struct detect *detect, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    if (detect->show >= DETECT_SHOW_MATRICES)
        status = write_last_matrices(detect, error);
    THEN(status, detect_list_deadlocked(detect, SIZE_MAX, error));
    if (status != GORDIAN_OK)
        return status;
    const struct tally *tally = &detect->tally;
    struct json json;
    json_begin(&json, &detect->cli->out);
    json_open(&json, "summary", '{');
    json_key_u64(&json, "events", tally->events);
    json_key_u64(&json, "granted", tally->granted);
    json_key_u64(&json, "blocked", tally->blocked);
    json_key_u64(&json, "deadlocks", tally->deadlocks);
    json_key_u64(&json, "doomed", tally->doomed);
    json_key_u64(&json, "errors", tally->errors);
    json_key_text(&json, "engine", gordian_engine_name(detect->system));
    json_key_text(&json, "model", gordian_model_text(gordian_system_model(detect->system)));
    json_names(&json, "deadlocked", &detect->list);
    json_end(&json);
    return GORDIAN_OK;
}

const struct reporter detect_json = {true, write_event, write_summary};
