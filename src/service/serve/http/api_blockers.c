/* Blockers: processes ranked by how many others wait behind them, and opened step by step. */
#include "service/serve/http/api.h"

#include <stdlib.h>
#include <string.h>

#define ROOTS         20
#define CHILDREN      200        /* maximum per process */
#define LOOK          400        /* edges examined */
#define HOLDS         3          /* resources listed per process */
#define LOOK_LABELLED (1u << 17) /* processes examined for a label */

/* `circle`: is it in a cycle? NULL: do not write. */
static void write_blocker(struct api_call *call, struct json *json, uint32_t process,
                          uint32_t behind, const bool *circle)
{
    struct served *served = call->system;
    gordian_edge edges[HOLDS];
    char label[GORDIAN_NAME_MAX + 1];
    json_open(json, NULL, '{');
    json_key_text(json, "process", served_process_label(served, process, label));
    json_key_u64(json, "blocks", behind);
    json_key_bool(json, "waiting", served->processes[process].since != 0);
    json_key_bool(json, "deadlocked", served_incident(served, process) != GORDIAN_NONE);
    service_process_json(json, call->api->service, served, process);
    for (int side = 0; side < 2; side++) {
        size_t count =
            served_first_edges(served, side ? SERVED_WANTED : SERVED_HELD, process, edges, HOLDS);
        json_open(json, side ? "wants" : "holds", '[');
        for (size_t i = 0; i < count; i++)
            if (!served_is_await(served, edges[i].resource))
                json_text(json, served_resource_label(served, edges[i].resource, label));
        json_shut(json);
    }
    if (circle)
        json_key_bool(json, "circle", *circle);
    json_shut(json);
}

static bool process_exists(const struct served *served, uint32_t process)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    return process < served->process_room && served_process_name(served, process, buffer);
}

static void write_roots(struct api_call *call, struct json *json,
                        const struct blockers_system *known, uint64_t limit)
{
    json_open(json, "blockers", '[');
    for (uint32_t i = 0; known && i < known->top_count && i < limit; i++) {
        const struct blockers_root *root = &known->top[i];
        if (process_exists(call->system, root->process)) /* skip processes that have exited */
            write_blocker(call, json, root->process, root->behind, &root->circle);
    }
    json_shut(json);
}

struct child {
    uint32_t process, behind;
};

static int compare_children(const void *left, const void *right)
{
    const struct child *a = left, *b = right;
    return a->behind != b->behind ? (a->behind < b->behind) - (a->behind > b->behind)
                                  : (a->process > b->process) - (a->process < b->process);
}

/* Finds the processes that wait for a resource it holds. */
static size_t find_children(struct served *served, const struct blockers_system *known,
                            uint32_t process, struct child *children, bool *more)
{
    gordian_edge held[LOOK], waits[LOOK];
    size_t count = 0, holds = served_first_edges(served, SERVED_HELD, process, held, LOOK);
    *more = holds == LOOK;
    for (size_t i = 0, examined = 0; i < holds && examined < LOOK; i++) {
        size_t there =
            served_first_edges(served, SERVED_WAITERS, held[i].resource, waits, LOOK - examined);
        examined += there;
        *more |= examined == LOOK;
        for (size_t j = 0; j < there; j++) {
            bool known_already = waits[j].process == process;
            for (size_t k = 0; k < count && !known_already; k++)
                known_already = children[k].process == waits[j].process;
            if (!known_already && count < LOOK)
                children[count++] =
                    (struct child){waits[j].process, blockers_behind(known, waits[j].process)};
        }
    }
    qsort(children, count, sizeof *children, compare_children);
    return count;
}

static int write_waiters(struct api_call *call, struct json *json,
                         const struct blockers_system *known, const char *name)
{
    struct child children[LOOK];
    bool more;
    uint32_t process = served_find_process(call->system, name, strlen(name));
    if (process == GORDIAN_NONE)
        return api_fail(call, 404, "there is no process '%.100s'", name);
    size_t count = find_children(call->system, known, process, children, &more);
    json_key_text(json, "under", name);
    json_open(json, "blockers", '[');
    for (size_t i = 0; i < count && i < CHILDREN; i++)
        write_blocker(call, json, children[i].process, children[i].behind, NULL);
    json_shut(json);
    json_key_bool(json, "truncated", more || count > CHILDREN);
    return 200;
}

/* Writes the worst blockers with a label, waiting or not. */
static void write_labelled(struct api_call *call, struct json *json,
                           const struct blockers_system *known, const char *label, uint64_t limit)
{
    const struct tags *tags = &call->system->tags;
    struct child best[BLOCKERS_TOP + 1];
    size_t count = 0;
    uint32_t number = tags_find(tags, label), end = tags->set_room[TAGS_PROCESS];
    uint32_t left = tags_users(tags, TAGS_PROCESS, number);
    end = end < LOOK_LABELLED ? end : LOOK_LABELLED;
    for (uint32_t i = 0; i < end && left > 0; i++) {
        if (!tags_has(tags, TAGS_PROCESS, i, number))
            continue;
        left--;
        struct child one = {i, blockers_behind(known, i)};
        if (!process_exists(call->system, i))
            continue;
        if (one.behind == 0 && call->system->processes[i].incident != GORDIAN_NONE)
            one.behind = 1; /* another process of its cycle */
        if (one.behind == 0)
            continue;
        size_t at = count < limit ? count++ : count;
        for (; at > 0 && best[at - 1].behind < one.behind; at--)
            best[at] = best[at - 1];
        best[at] = one;
    }
    json_open(json, "blockers", '[');
    for (size_t i = 0; i < count; i++) {
        bool circle = call->system->processes[best[i].process].incident != GORDIAN_NONE;
        write_blocker(call, json, best[i].process, best[i].behind, &circle);
    }
    json_shut(json);
    json_key_bool(json, "truncated", left > 0);
}

int api_blockers(struct api_call *call)
{
    const char *under = http_query(call->request, "under");
    uint64_t limit;
    struct json json;
    int status = 200;
    if (!api_number(call, "limit", ROOTS, BLOCKERS_TOP, &limit))
        return api_fail(call, 400, "'limit' is not a number");
    const struct blockers_system *known = blockers_ask(&call->api->blockers, call->system);
    json_begin(&json, &call->out);
    json_key_text(&json, "system", call->system->name);
    json_key_u64(&json, "waiting", call->system->waiting);
    if (known && known->found)
        json_key_u64(&json, "at", known->found);
    else
        json_key_null(&json, "at"); /* not known yet: ask again soon */
    if (under && *under)
        status = write_waiters(call, &json, known, under);
    else if (*api_label(call))
        write_labelled(call, &json, known, api_label(call), limit);
    else
        write_roots(call, &json, known, limit);
    json_end(&json);
    return status;
}
