/* What operators do by hand, and the trail of it. */
#include "service/serve/http/api.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define WHY_MAX 500

const char *api_who(const struct api_call *call)
{
    return *call->grant.name ? call->grant.name : "somebody on this machine";
}

static int may_act(struct api_call *call)
{
    if ((call->grant.rights & AUTH_END_OTHERS) != AUTH_END_OTHERS)
        return api_fail(call, 403, "this token does not permit to end what is another's");
    if (!http_is_json(call->request->content_type))
        return api_fail(call, 415, "send 'Content-Type: application/json'");
    return 200;
}

static int read_action(struct api_call *call, const json_t *body, struct service_action *action,
                       char why[WHY_MAX + 1])
{
    const json_t *process = json_object_get(body, "process");
    const json_t *reason = json_object_get(body, "reason");
    if (!json_is_object(body) || !json_is_string(process))
        return api_fail(call, 400, "the body is not {\"process\":NAME}");
    if (reason && (!json_is_string(reason) || json_string_length(reason) > WHY_MAX))
        return api_fail(call, 400, "'reason' is a text of at most %d bytes", WHY_MAX);
    snprintf(why, WHY_MAX + 1, "%s", reason ? json_string_value(reason) : "");
    action->process =
        served_find_process(call->system, json_string_value(process), json_string_length(process));
    if (action->process == GORDIAN_NONE)
        return api_fail(call, 404, "there is no process '%.100s'", json_string_value(process));
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
    json_error_t trouble;
    gordian_error error = {0};
    const char *result = "";
    int status = may_act(call);
    if (status != 200)
        return status;
    json_t *body = json_loadb(call->body, call->length, JSON_REJECT_DUPLICATES, &trouble);
    status = read_action(call, body, &action, why);
    json_decref(body);
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
