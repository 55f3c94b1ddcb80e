/* Labels of processes and resources: lists them, and sets them by hand. */
#include "service/serve/http/api.h"

#include <string.h>

#define LABELS_MAX 1000  /* maximum labels listed */
#define LOOK_MAX   65536 /* maximum label numbers examined */

int api_labels(struct api_call *call)
{
    const struct tags *tags = &call->system->tags;
    uint32_t listed = 0, i = 0;
    struct json json;
    json_begin(&json, &call->out);
    json_key_text(&json, "system", call->system->name);
    json_open(&json, "labels", '[');
    for (; i < tags->limit && i < LOOK_MAX && listed < LABELS_MAX; i++) {
        uint32_t processes = tags_users(tags, TAGS_PROCESS, i);
        uint32_t resources = tags_users(tags, TAGS_RESOURCE, i);
        if (processes + resources == 0)
            continue;
        listed++;
        json_open(&json, NULL, '{');
        json_key_text(&json, "label", tags_label(tags, i));
        json_key_u64(&json, "processes", processes);
        json_key_u64(&json, "resources", resources);
        json_shut(&json);
    }
    json_shut(&json);
    json_key_bool(&json, "truncated", i < tags->limit);
    json_end(&json);
    return 200;
}

static int read_labelled_name(struct api_call *call, const struct value *body,
                              struct wire_label *label)
{
    const struct value *process = value_find(body, "process");
    const struct value *resource = value_find(body, "resource");
    const struct value *name = process ? process : resource;
    if (!value_is(name, VALUE_TEXT) || (process && resource))
        return api_fail(call, 400,
                        "the body is not {\"process\":NAME,\"labels\":[..]}, nor with a resource");
    const char *text = value_text(name);
    label->what = process ? WIRE_PROCESS : WIRE_RESOURCE;
    label->id = process ? served_find_process(call->system, text, name->count)
                        : served_find_resource(call->system, text, name->count);
    if (label->id == GORDIAN_NONE)
        return api_fail(call, 404, "there is no %s '%.100s'", process ? "process" : "resource",
                        text);
    return 200;
}

static int read_labels(struct api_call *call, const struct value *body, struct wire_label *label,
                       struct wire_text texts[WIRE_LABELS_MAX])
{
    const struct value *list = value_find(body, "labels");
    size_t count = value_count(list);
    if (!value_is(list, VALUE_LIST) || count == 0 || count > WIRE_LABELS_MAX)
        return api_fail(call, 400, "'labels' are 1 to %d texts KEY:VALUE", WIRE_LABELS_MAX);
    for (size_t i = 0; i < count; i++) {
        const struct value *text = value_item(list, i);
        if (!value_is(text, VALUE_TEXT) || text->count > GORDIAN_NAME_MAX)
            return api_fail(call, 400, "a label is a text of at most %d bytes", GORDIAN_NAME_MAX);
        texts[i] = (struct wire_text){value_text(text), text->count};
    }
    label->texts = texts;
    label->count = count;
    return 200;
}

static void write_new_labels(struct api_call *call, const struct wire_label *label)
{
    bool process = label->what == WIRE_PROCESS;
    char buffer[GORDIAN_NAME_MAX + 1];
    struct json json;
    json_begin(&json, &call->out);
    json_key_text(&json, "system", call->system->name);
    json_key_text(&json, process ? "process" : "resource",
                  process ? served_process_label(call->system, label->id, buffer)
                          : served_resource_label(call->system, label->id, buffer));
    tags_json(&json, &call->system->tags, process ? TAGS_PROCESS : TAGS_RESOURCE, label->id);
    json_end(&json);
}

/* A client of the API has no session, so everything it labels belongs to another session. */
int api_set_labels(struct api_call *call)
{
    struct wire_label label = {0};
    struct wire_text texts[WIRE_LABELS_MAX];
    struct arena arena;
    const struct value *body;
    gordian_error error = {0};
    if ((call->grant.rights & AUTH_END_OTHERS) != AUTH_END_OTHERS)
        return api_fail(call, 403,
                        "permission denied: the token may not change processes of other sessions");
    int status = api_read_body(call, &arena, &body);
    if (status == 200)
        status = read_labelled_name(call, body, &label);
    if (status == 200)
        status = read_labels(call, body, &label, texts);
    if (status == 200 &&
        service_label(call->api->service, call->system, &label, api_who(call), &error))
        status = api_fail(call, error.status == GORDIAN_STATUS_INPUT ? 400 : 503, "%.200s",
                          error.message);
    arena_free(&arena);
    if (status == 200)
        write_new_labels(call, &label);
    return status;
}
