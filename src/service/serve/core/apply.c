/* Commands: check, apply, and append the record to the write-ahead journal. */
#include "foundation/base/clock.h"
#include "output/show/graph.h"
#include "service/serve/core/service_internal.h"

#include <string.h>

#define SLICE_CHECK 16 /* declarations or removals between two readings of the clock */

/* ------------------------------------------------------------------ records */

gordian_status record_begin(struct service *service, enum record_kind kind, uint32_t slot,
                            uint32_t session, size_t more, gordian_error *error)
{
    struct bytes *record = &service->work->record;
    if (service->append_pending)
        return fail_memory(error);
    record->used = 0;
    record->failed = false;
    if (!bytes_room(record, RECORD_HEAD + more))
        return fail_memory(error);
    record->data[0] = (uint8_t)kind;
    wire_store32(record->data + 1, slot);
    wire_store32(record->data + 5, session);
    record->used = RECORD_HEAD;
    service->work->record_at = service->work->now;
    return GORDIAN_OK;
}

void record_append(struct service *service)
{
    const struct service_journal *journal = &service->options.journal;
    const struct bytes *record = &service->work->record;
    if (service->replaying || !journal->append)
        return;
    service->append_pending = journal->append(journal->context, service->work->record_at,
                                              record->data, record->used) == 0;
}

void record_append_body(struct service *service, size_t frame_size)
{
    uint8_t *at = record_end(service);
    memmove(at, at + WIRE_HEAD_SIZE, frame_size - WIRE_HEAD_SIZE);
    service->work->record.used += frame_size - WIRE_HEAD_SIZE;
    record_append(service);
}

/* ------------------------------------------------------------------ quotas */

/* Limits may change between two runs. A replay ignores them: it applies all records that were
 * applied before. */
static gordian_status check_names(struct service *service, const struct served *served,
                                  uint32_t session, gordian_error *error)
{
    const struct service_limits *limits = &service->options.limits;
    if (service->replaying)
        return GORDIAN_OK;
    if ((uint64_t)served->process_count + served->resource_count >= limits->names)
        return FAIL_WITH(service, WIRE_QUOTA, error,
                         "too many names in system '%s': the limit is %u", served->name,
                         limits->names);
    if (session != GORDIAN_NONE && service->sessions[session].processes >= limits->session_names)
        return FAIL_WITH(service, WIRE_QUOTA, error,
                         "too many processes of a session: the limit is %u", limits->session_names);
    return holder_check(service, session, 1, 0, error);
}

static gordian_status check_resources(struct service *service, const struct served *served,
                                      uint32_t session, gordian_error *error)
{
    uint32_t limit = service->options.limits.session_resources;
    if (!service->replaying && session != GORDIAN_NONE &&
        service->sessions[session].resources >= limit)
        return FAIL_WITH(service, WIRE_QUOTA, error,
                         "too many resources of a session: the limit is %u", limit);
    TRY(holder_check(service, session, 1, 0, error));
    return check_names(service, served, GORDIAN_NONE, error);
}

static gordian_status check_service_memory(struct service *service, gordian_error *error)
{
    uint64_t limit = service->options.limits.memory;
    if (service->replaying || limit == 0 || service_memory_used(service) < limit)
        return GORDIAN_OK;
    service->work->retry_ms = 1000;
    return FAIL_WITH(service, WIRE_QUOTA, error,
                     "memory limit of the service reached: retry later");
}

/* ------------------------------------------------------------------ systems */

static gordian_status parse_config(const struct wire_open *open, struct served_config *config,
                                   gordian_error *error)
{
    if (open->kind != SERVED_DETECT && open->kind != SERVED_AVOID)
        return fail(error, GORDIAN_STATUS_INPUT, "the kind of a system must be detect or avoid");
    served_config_init(config, (enum served_kind)open->kind);
    return served_config_parse(config, open->options.text, open->options.length, error);
}

bool service_reserve_system(struct service *service, uint32_t slot)
{
    if (!memory_grow32(&service->memory, &service->systems, &service->system_room, slot + 1,
                       sizeof *service->systems))
        return false;
    for (; service->system_limit <= slot; service->system_limit++)
        service->systems[service->system_limit] = NULL;
    return true;
}

/* Opens a system with its own meter. */
static gordian_status open_served(struct service *service, const struct wire_open *open,
                                  const struct served_config *config, struct served **served,
                                  gordian_error *error)
{
    struct meter *meter = NULL;
    TRY(service_new_meter(service, &meter, error));
    const gordian_allocator *memory = meter ? meter_allocator(meter) : &service->memory;
    gordian_status status = (service->replaying ? served_reopen : served_open)(
        served, open->name.text, open->name.length, config, memory, error);
    if (status == GORDIAN_OK)
        (*served)->meter = meter;
    else
        meter_free(meter);
    return status;
}

gordian_status service_new_meter(struct service *service, struct meter **meter,
                                 gordian_error *error)
{
    *meter = service->meter ? meter_new(service->meter) : NULL;
    return service->meter && !*meter ? fail_memory(error) : GORDIAN_OK;
}

void service_close_served(struct served *served)
{
    struct meter *meter = served ? served->meter : NULL;
    served_close(served);
    meter_free(meter);
}

static void notify_systems(struct service *service)
{
    for (struct service_watcher *w = service->watchers; w; w = w->next)
        if (w->systems)
            w->systems(w->context);
}

void service_add_system(struct service *service, uint32_t slot, struct served *served)
{
    served->slot = slot;
    served->accounts = &service->accounts;
    service->systems[slot] = served;
    service->system_count++;
    notify_systems(service);
}

gordian_status service_put_system(struct service *service, uint32_t slot,
                                  const struct wire_open *open, gordian_error *error)
{
    struct served_config config;
    struct served *served;
    TRY(parse_config(open, &config, error));
    if (!service_reserve_system(service, slot))
        return fail_memory(error);
    if (service->systems[slot])
        return fail(error, GORDIAN_STATUS_INPUT, "slot %u already has a system", slot);
    TRY(open_served(service, open, &config, &served, error));
    served->opened = service->work->now;
    service_add_system(service, slot, served);
    return GORDIAN_OK;
}

static gordian_status open_new(struct service *service, uint32_t session,
                               const struct wire_open *open, uint32_t *slot, gordian_error *error)
{
    uint32_t own = service->options.limits.session_systems;
    if (session != GORDIAN_NONE && service->sessions[session].systems >= own)
        return FAIL_WITH(service, WIRE_QUOTA, error,
                         "too many systems of a session: the limit is %u", own);
    if (service->system_count >= service->options.limits.systems)
        return FAIL_WITH(service, WIRE_QUOTA, error, "too many systems: the limit is %u",
                         service->system_count);
    TRY(holder_check(service, session, 0, 1, error));
    TRY(check_service_memory(service, error));
    TRY(quota_check(service, session, served_system_cost(), error));
    for (*slot = 0; *slot < service->system_limit && service->systems[*slot];)
        ++*slot;
    size_t size = wire_put_open(NULL, 0, open);
    TRY(record_begin(service, RECORD_OPEN, *slot, session, size, error));
    TRY(service_put_system(service, *slot, open, error));
    record_append_body(service, wire_put_open(record_end(service), size, open));
    quota_opened(service, session, service->systems[*slot]);
    return GORDIAN_OK;
}

gordian_status apply_open(struct service *service, uint32_t session, const struct wire_open *open,
                          uint32_t *slot, gordian_error *error)
{
    const struct served *known = service_find(service, open->name.text, open->name.length);
    struct served_config config;
    if (!known)
        return open_new(service, session, open, slot, error);
    TRY(parse_config(open, &config, error));
    char text[SERVED_CONFIG_TEXT_MAX];
    if (!served_config_equal(&config, &known->config))
        return FAIL_WITH(service, WIRE_OTHER_SYSTEM, error, "system '%s' already exists, as %s %s",
                         known->name, known->operations->kind,
                         served_config_text(&known->config, text));
    *slot = known->slot;
    return GORDIAN_OK;
}

void service_drop_system(struct service *service, struct served *served)
{
    uint32_t slot = served->slot;
    incidents_close_all(service, served);
    for (uint32_t p = 0; p < served->process_room; p++)
        if (served->processes[p].owner != GORDIAN_NONE)
            session_disown(service, served, p);
    quota_closed(service, served);
    for (struct client *client = service->clients; client; client = client->next)
        if (client->system == slot)
            client->system = GORDIAN_NONE;
    service->systems[slot] = NULL;
    service->system_count--;
    service_close_served(served);
    notify_systems(service);
}

gordian_status apply_close(struct service *service, struct served *served, gordian_error *error)
{
    if (strcmp(served->name, DEFAULT_SYSTEM) == 0)
        return FAIL_WITH(service, WIRE_IN_USE, error,
                         "system '" DEFAULT_SYSTEM "' cannot be closed");
    TRY(record_begin(service, RECORD_CLOSE, served->slot, GORDIAN_NONE, 0, error));
    service_drop_system(service, served);
    record_append(service);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ declarations */

static gordian_status apply_resource(struct service *service, struct served *served,
                                     uint32_t session, const struct wire_declaration *declaration,
                                     bool *changed, uint32_t *id, gordian_error *error)
{
    const char *name = declaration->name.text;
    size_t length = declaration->name.length;
    bool is_new = served_find_resource(served, name, length) == GORDIAN_NONE;
    *changed = is_new || served->operations->forgets;
    if (!is_new)
        return served_declare_resource(served, name, length, declaration->units, id, error);
    TRY(check_resources(service, served, session, error));
    TRY(quota_check(service, session, served_resource_cost(served, length), error));
    if (!served_reserve_adder(served))
        return fail_memory(error);
    TRY(served_declare_resource(served, name, length, declaration->units, id, error));
    quota_added(service, session, served, *id, length);
    return GORDIAN_OK;
}

static gordian_status apply_process(struct service *service, struct served *served,
                                    uint32_t session, const struct wire_declaration *declaration,
                                    bool *changed, uint32_t *id, gordian_error *error)
{
    const char *name = declaration->name.text;
    size_t length = declaration->name.length, claims = declaration->claim_count;
    uint32_t known = served_find_process(served, name, length), payer = session;
    bool is_new = known == GORDIAN_NONE;
    if (is_new)
        TRY(check_names(service, served, session, error));
    else if (served->processes[known].owner != GORDIAN_NONE)
        payer = served->processes[known].owner;
    if (is_new || claims > 0)
        TRY(quota_check(service, payer, served_new_process_cost(served, length, claims), error));
    if (!session_reserve(service, session))
        return fail_memory(error);
    TRY(served_declare_process(served, name, length, declaration->claims, claims, id, error));
    *changed =
        is_new || served->operations->forgets || served->processes[*id].owner == GORDIAN_NONE;
    session_own(service, session, served, *id);
    return GORDIAN_OK;
}

static gordian_status declare_one(struct service *service, struct served *served, uint32_t session,
                                  const struct wire_declaration *declaration, bool *changed,
                                  uint32_t *id, gordian_error *error)
{
    /* The process will belong to the session that sends its events. The quota of the session that
     * names it must allow its cost. */
    if (declaration->what == WIRE_OTHER) {
        TRY(quota_check(service, session,
                        served_new_process_cost(served, declaration->name.length, 0), error));
        session = GORDIAN_NONE;
    }
    quota_enter(service, served);
    gordian_status status = (declaration->what == WIRE_RESOURCE ? apply_resource : apply_process)(
        service, served, session, declaration, changed, id, error);
    return quota_leave(service, served, status, error);
}

/* Notifies processes that a bank's declaration granted. No answer lists them. */
static void notify_served(struct service *service, struct served *served)
{
    size_t count;
    const uint32_t *list = served_granted(served, &count);
    if (count > 0)
        fence_next(service);
    notify_granted(service, served, list, count, NULL);
    served->granted_count = 0;
}

/* Reserves memory for the rest of the frame. */
static gordian_status reserve_declare(struct service *service, const struct apply_declare *declare,
                                      gordian_error *error)
{
    const struct wire_list *list = &declare->list;
    struct service_work *work = service->work;
    slice_begin(service);
    if (list->left > WIRE_FRAME_MAX / 12)
        return FAIL_WITH(service, WIRE_MALFORMED, error, "too many declarations for a frame");
    if (!memory_grow(&service->memory, &work->ids, &work->id_room, declare->count + list->left,
                     sizeof *work->ids))
        return fail_memory(error);
    TRY(record_begin(service, RECORD_DECLARE, declare->served->slot, declare->session,
                     4 + (size_t)(list->end - list->at), error));
    work->record.used += 4; /* the number of declarations */
    return GORDIAN_OK;
}

gordian_status apply_declare(struct service *service, struct apply_declare *declare,
                             gordian_error *error)
{
    struct service_work *work = service->work;
    struct wire_list *list = &declare->list;
    struct wire_declaration declaration;
    uint32_t kept = 0;
    gordian_status status = check_service_memory(service, error);
    THEN(status, reserve_declare(service, declare, error));
    if (status != GORDIAN_OK && declare->count > 0) {
        /* Earlier slices were applied and need an answer: refuse the rest. Memory for the ids was
         * reserved. */
        for (; declare->list.left > 0; declare->list.left--)
            service->work->ids[declare->count++] = GORDIAN_NONE;
        return GORDIAN_OK;
    }
    if (status != GORDIAN_OK)
        return status;
    const unsigned char *start = list->at;
    while (!declare->yields && wire_next_declaration(list, &declaration, work->wants, WANTS)) {
        bool changed = false;
        uint32_t id = GORDIAN_NONE;
        if (declare_one(service, declare->served, declare->session, &declaration, &changed, &id,
                        error)) {
            id = GORDIAN_NONE;
            changed = false;
        }
        notify_served(service, declare->served);
        declare->accepted |= id != GORDIAN_NONE;
        work->ids[declare->count++] = id;
        if (changed) {
            bytes_put(&work->record, start, (size_t)(list->at - start));
            kept++;
        }
        start = list->at;
        declare->yields = declare->sliced && list->left > 0 && declare->count % SLICE_CHECK == 0 &&
                          slice_is_over(work, clock_ns());
    }
    wire_store32(work->record.data + RECORD_HEAD, kept);
    if (kept > 0)
        record_append(service);
    if (declare->yields)
        return GORDIAN_OK;
    if (list->left > 0)
        return FAIL_WITH(service, WIRE_MALFORMED, error, "declaration %zu is malformed",
                         declare->count + 1);
    /* Reports a quota as an error of the frame, if all of it was refused. */
    return !declare->accepted && work->code == WIRE_QUOTA ? GORDIAN_STATUS_INPUT : GORDIAN_OK;
}

gordian_status apply_declaration(struct service *service, struct served *served, uint32_t session,
                                 const struct wire_declaration *declaration, uint32_t *id,
                                 gordian_error *error)
{
    size_t size = wire_put_declare(NULL, 0, declaration, 1);
    TRY(check_service_memory(service, error));
    TRY(record_begin(service, RECORD_DECLARE, served->slot, session, size, error));
    bool changed = false;
    TRY(declare_one(service, served, session, declaration, &changed, id, error));
    notify_served(service, served);
    if (changed)
        record_append_body(service, wire_put_declare(record_end(service), size, declaration, 1));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ removal, weights, labels */

static gordian_status check_removable(struct service *service, struct served *served, uint8_t what,
                                      uint32_t id, gordian_error *error)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    bool process = what == WIRE_PROCESS;
    const char *name = process ? served_process_name(served, id, buffer)
                               : served_resource_name(served, id, buffer);
    if (!name)
        return FAIL_WITH(service, WIRE_BAD_VALUE, error, "there is no %s %u",
                         process ? "process" : "resource", id);
    const gordian_edge *edges;
    size_t first, second;
    TRY(served_edges(served, process ? SERVED_HELD : SERVED_HOLDERS, id, &edges, &first, error));
    TRY(served_edges(served, process ? SERVED_WANTED : SERVED_WAITERS, id, &edges, &second, error));
    if (first + second == 0)
        return GORDIAN_OK;
    return FAIL_WITH(
        service, WIRE_IN_USE, error,
        process ? "'%.60s' holds or waits for something" : "'%.60s' is held or waited for", name);
}

/* Removes a name that is not held or waited for. Fails only if a resource of a bank is still
 * claimed. */
static gordian_status remove_name(struct service *service, struct served *served, uint8_t what,
                                  uint32_t id, gordian_error *error)
{
    if (what == WIRE_RESOURCE) {
        char buffer[GORDIAN_NAME_MAX + 1];
        const char *name = served_resource_name(served, id, buffer);
        size_t length = name ? strlen(name) : 0;
        uint64_t labels = tags_cost(&served->tags, TAGS_RESOURCE, id);
        uint32_t payer = quota_adder(service, served, id);
        TRY(served_remove_resource(served, id, error));
        served_charge(served, payer, labels, 0);
        quota_removed(service, served, id, length);
        return GORDIAN_OK;
    }
    if (served->operations->forgets)
        return FAIL_WITH(service, WIRE_BAD_VALUE, error,
                         "in a system that avoids deadlocks, only its exit removes a process");
    session_disown(service, served, id);
    return served_remove_process(served, id, error);
}

gordian_status apply_removal(struct service *service, struct served *served, uint8_t what,
                             uint32_t id, gordian_error *error)
{
    size_t size = wire_put_remove(NULL, 0, what, &id, 1);
    TRY(check_removable(service, served, what, id, error));
    TRY(record_begin(service, RECORD_REMOVE, served->slot, GORDIAN_NONE, size, error));
    TRY(remove_name(service, served, what, id, error));
    record_append_body(service, wire_put_remove(record_end(service), size, what, &id, 1));
    return GORDIAN_OK;
}

static gordian_status check_next(struct service *service, const struct apply_remove *remove,
                                 uint32_t id, gordian_error *error)
{
    TRY(client_may_modify(remove->client, remove->served, remove->what, id, "end", error));
    return check_removable(service, remove->served, remove->what, id, error);
}

static bool removal_yields(struct service *service, const struct apply_remove *remove)
{
    uint32_t left = remove->list.left;
    return left > 0 && left % SLICE_CHECK == 0 && slice_is_over(service->work, clock_ns());
}

/* Checks all ids before the first removal: a frame with an id in use removes nothing. */
static gordian_status check_all(struct service *service, struct apply_remove *remove,
                                gordian_error *error)
{
    uint32_t id;
    while (!remove->yields && wire_next_id(&remove->list, &id)) {
        TRY(check_next(service, remove, id, error));
        remove->yields = removal_yields(service, remove);
    }
    if (!remove->yields) {
        remove->checked = true;
        remove->list = remove->all;
    }
    return GORDIAN_OK;
}

/* If it fails in the middle, the record has the ids removed before. */
static gordian_status remove_all(struct service *service, struct apply_remove *remove,
                                 gordian_error *error)
{
    struct bytes *record = &service->work->record;
    gordian_status status = GORDIAN_OK;
    uint32_t done = 0, id;
    TRY(record_begin(service, RECORD_REMOVE, remove->served->slot, GORDIAN_NONE,
                     5 + 4 * (size_t)remove->list.left, error));
    record->data[RECORD_HEAD] = remove->what;
    record->used += 5; /* the kind, the number of ids */
    while (!remove->yields && wire_next_id(&remove->list, &id)) {
        if (remove->resumed) /* it may be in use, or another session's, since it was checked */
            status = check_next(service, remove, id, error);
        THEN(status, remove_name(service, remove->served, remove->what, id, error));
        if (status != GORDIAN_OK)
            break;
        bytes_put(record, remove->list.at - 4, 4);
        done++;
        remove->yields = removal_yields(service, remove);
    }
    wire_store32(record->data + RECORD_HEAD + 1, done);
    if (done > 0)
        record_append(service);
    return status;
}

gordian_status apply_remove(struct service *service, struct apply_remove *remove,
                            gordian_error *error)
{
    slice_begin(service);
    if (!remove->checked)
        TRY(check_all(service, remove, error));
    return remove->yields ? GORDIAN_OK : remove_all(service, remove, error);
}

gordian_status apply_weigh(struct service *service, struct served *served,
                           const struct wire_weigh *weigh, gordian_error *error)
{
    size_t size = wire_put_weigh(NULL, 0, weigh);
    char buffer[GORDIAN_NAME_MAX + 1];
    if (!served_process_name(served, weigh->process, buffer))
        return fail(error, GORDIAN_STATUS_INPUT, "there is no process %u", weigh->process);
    TRY(record_begin(service, RECORD_WEIGH, served->slot, GORDIAN_NONE, size, error));
    TRY(served_weigh(served, weigh->process, weigh->priority, weigh->cost, error));
    record_append_body(service, wire_put_weigh(record_end(service), size, weigh));
    return GORDIAN_OK;
}

gordian_status apply_label(struct service *service, struct served *served, uint32_t session,
                           const struct wire_label *label, gordian_error *error)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    size_t size = wire_put_label(NULL, 0, label);
    bool process = label->what == WIRE_PROCESS;
    if (process ? !served_process_name(served, label->id, buffer)
                : served_is_await(served, label->id) ||
                      !served_resource_name(served, label->id, buffer))
        return FAIL_WITH(service, WIRE_BAD_VALUE, error, "there is no %s %u",
                         process ? "process" : "resource", label->id);
    /* the session charged for the labels */
    uint32_t payer =
        process ? served->processes[label->id].owner : quota_adder(service, served, label->id);
    TRY(quota_check(service, payer != GORDIAN_NONE ? payer : session,
                    tags_more_cost(label->texts, label->count), error));
    TRY(record_begin(service, RECORD_LABEL, served->slot, GORDIAN_NONE, size, error));
    TRY(served_label(served, process ? TAGS_PROCESS : TAGS_RESOURCE, label->id, label->texts,
                     label->count, payer, error));
    record_append_body(service, wire_put_label(record_end(service), size, label));
    return GORDIAN_OK;
}
