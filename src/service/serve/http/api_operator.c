/* Operator actions, and their audit trail. */
#include "service/serve/http/api.h"

#include <stdio.h>
#include <string.h>

#define WHY_MAX 500

const char *api_who(const struct api_call *call)
{
    return *call->grant.name ? call->grant.name : "a user of this machine";
}

static int read_action(struct api_call *call, const struct value *body,
                       struct service_action *action, char why[WHY_MAX + 1])
{
    const struct value *process = value_find(body, "process");
    const struct value *reason = value_find(body, "reason");
    if (!value_is(process, VALUE_TEXT))
        return api_fail(call, 400, "the body is not {\"process\":NAME}");
    if (reason && (!value_is(reason, VALUE_TEXT) || reason->count > WHY_MAX))
        return api_fail(call, 400, "'reason' is a text of at most %d bytes", WHY_MAX);
    snprintf(why, WHY_MAX + 1, "%s", reason ? value_text(reason) : "");
    action->process = served_find_process(call->system, value_text(process), process->count);
    if (action->process == GORDIAN_NONE)
        return api_fail(call, 404, "there is no process '%.100s'", value_text(process));
    return 200;
}

static void write_done(struct api_call *call, const struct service_action *action,
                       const char *process, const char *result)
{
    struct json json;
    json_begin(&json, &call->out);
    json_key_text(&json, "system", call->system->name);
    json_key_text(&json, "process", process);
    json_key_text(&json, "result", result);
    json_key_text(&json, "who", action->who);
    json_key_u64(&json, "id", store_last(call->api->store));
    json_end(&json);
}

static int act_on(struct api_call *call, gordian_op op)
{
    struct service_action action = {.op = op};
    char why[WHY_MAX + 1], buffer[GORDIAN_NAME_MAX + 1], name[GORDIAN_NAME_MAX + 1];
    struct arena arena;
    const struct value *body;
    gordian_error error = {0};
    const char *result = "";
    if ((call->grant.rights & AUTH_END_OTHERS) != AUTH_END_OTHERS)
        return api_fail(call, 403,
                        "permission denied: the token may not end processes of other sessions");
    int status = api_read_body(call, &arena, &body);
    if (status == 200)
        status = read_action(call, body, &action, why);
    arena_free(&arena);
    if (status != 200)
        return status;
    snprintf(name, sizeof name, "%s", served_process_label(call->system, action.process, buffer));
    action.who = api_who(call);
    action.why = why;
    if (service_act(call->api->service, call->system, &action, &result, &error) != GORDIAN_OK)
        return api_fail(call, error.status == GORDIAN_STATUS_INPUT ? 409 : 503, "%.200s",
                        error.message);
    write_done(call, &action, name, result);
    return 200;
}

int api_end(struct api_call *call)
{
    return act_on(call, GORDIAN_OP_EXIT);
}

int api_cancel(struct api_call *call)
{
    return act_on(call, GORDIAN_OP_CANCEL);
}
