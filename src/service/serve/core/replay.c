/* Replays the write-ahead journal after a restart, and saves and loads the service's part of a
 * snapshot. */
#include "service/serve/core/service_internal.h"
#include "service/serve/system/serialize.h"

#include <stdio.h>
#include <string.h>

#define SERVICE_SECTION "service"
#define SYSTEM_SECTION  "system " /* followed by the slot */
/* 1: no owners of resources and systems; 2: no tokens; 3: no fencing tokens; 4: no labels */
#define SERVICE_VERSION 5

/* ------------------------------------------------------------------ records */

struct record {
    enum record_kind kind;
    uint32_t slot, session;
    struct wire_frame frame;
    uint64_t number;
};

static gordian_status record_damaged(const struct record *record, gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_INPUT, "record %llu of the journal does not fit the state",
                (unsigned long long)record->number);
}

static bool is_session_slot(const struct service *service, uint32_t slot)
{
    return slot < service->session_limit && service->sessions[slot].in_use;
}

/* The replay_ functions return GORDIAN_STATUS_INPUT for a record that cannot be applied. */
static gordian_status replay_events(struct service *service, const struct record *record,
                                    struct served *served, gordian_error *error)
{
    const struct service_work *work = service->work;
    struct wire_events body;
    if (!wire_get_events(&record->frame, &body))
        return GORDIAN_STATUS_INPUT;
    struct apply_events events = {
        .served = served, .session = record->session, .first = body.first, .list = body.list};
    TRY(apply_events(service, &events, error));
    if (work->result_count != body.list.left)
        return GORDIAN_STATUS_INPUT;
    for (size_t i = 0; i < work->result_count; i++)
        if (work->results[i].outcome >= WIRE_NOT_TAKEN)
            return work->results[i].outcome == WIRE_NOT_TAKEN ? fail_memory(error)
                                                              : GORDIAN_STATUS_INPUT;
    return GORDIAN_OK;
}

static gordian_status replay_declare(struct service *service, const struct record *record,
                                     struct served *served, gordian_error *error)
{
    struct apply_declare declare = {.served = served, .session = record->session};
    if (!wire_get_declare(&record->frame, &declare.list))
        return GORDIAN_STATUS_INPUT;
    TRY(apply_declare(service, &declare, error));
    for (size_t i = 0; i < declare.count; i++)
        if (service->work->ids[i] == GORDIAN_NONE)
            return GORDIAN_STATUS_INPUT;
    return GORDIAN_OK;
}

static gordian_status replay_remove(struct service *service, const struct record *record,
                                    struct served *served, gordian_error *error)
{
    struct wire_list list;
    uint8_t what;
    uint32_t id;
    if (!wire_get_remove(&record->frame, &what, &list))
        return GORDIAN_STATUS_INPUT;
    while (wire_next_id(&list, &id))
        TRY(apply_removal(service, served, what, id, error));
    return GORDIAN_OK;
}

/* Replays a record of a session, or one that opens a system. */
static gordian_status replay_for_service(struct service *service, const struct record *record,
                                         gordian_error *error)
{
    struct wire_hello hello;
    struct wire_open open;
    if (record->kind == RECORD_SESSION)
        return wire_get_hello(&record->frame, &hello)
                   ? session_put(service, record->slot, &hello, error)
                   : GORDIAN_STATUS_INPUT;
    if (record->kind == RECORD_END) {
        if (!is_session_slot(service, record->slot))
            return GORDIAN_STATUS_INPUT;
        session_forget(service, record->slot);
        return GORDIAN_OK;
    }
    if ((record->session != GORDIAN_NONE && !is_session_slot(service, record->session)) ||
        !wire_get_open(&record->frame, &open))
        return GORDIAN_STATUS_INPUT;
    TRY(service_put_system(service, record->slot, &open, error));
    quota_opened(service, record->session, service->systems[record->slot]);
    return GORDIAN_OK;
}

static gordian_status replay_record(struct service *service, const struct record *record,
                                    gordian_error *error)
{
    struct served *served = service_system(service, record->slot);
    struct wire_text texts[WIRE_LABELS_MAX];
    struct wire_label label;
    struct wire_weigh weigh;
    if (record->kind == RECORD_OPEN || record->kind == RECORD_SESSION || record->kind == RECORD_END)
        return replay_for_service(service, record, error);
    if (!served || (record->session != GORDIAN_NONE && !is_session_slot(service, record->session)))
        return GORDIAN_STATUS_INPUT;
    switch (record->kind) {
    case RECORD_CLOSE:
        service_drop_system(service, served);
        return GORDIAN_OK;
    case RECORD_DECLARE:
        return replay_declare(service, record, served, error);
    case RECORD_EVENTS:
        return replay_events(service, record, served, error);
    case RECORD_REMOVE:
        return replay_remove(service, record, served, error);
    case RECORD_WEIGH:
        return wire_get_weigh(&record->frame, &weigh) ? apply_weigh(service, served, &weigh, error)
                                                      : GORDIAN_STATUS_INPUT;
    case RECORD_LABEL:
        return wire_get_label(&record->frame, &label, texts)
                   ? apply_label(service, served, GORDIAN_NONE, &label, error)
                   : GORDIAN_STATUS_INPUT;
    default:
        return GORDIAN_STATUS_INPUT;
    }
}

gordian_status service_replay(struct service *service, uint64_t number, uint64_t at,
                              const void *bytes, size_t length, gordian_error *error)
{
    const unsigned char *data = bytes;
    struct record record = {.number = number};
    if (length < RECORD_HEAD)
        return record_damaged(&record, error);
    record.kind = (enum record_kind)data[0];
    record.slot = wire_load32(data + 1);
    record.session = wire_load32(data + 5);
    record.frame = (struct wire_frame){.body = data + RECORD_HEAD, .size = length - RECORD_HEAD};
    service->replaying = true;
    service->work->now = at;
    gordian_status status = replay_record(service, &record, error);
    service->replaying = false;
    service->work->code = 0;
    return status == GORDIAN_STATUS_INPUT ? record_damaged(&record, error) : status;
}

/* ------------------------------------------------------------------ snapshots */

static void save_session(const struct service *service, uint32_t slot, struct bytes *bytes)
{
    const struct session *session = &service->sessions[slot];
    bytes_u64(bytes, slot);
    bytes_put(bytes, session->id, sizeof session->id);
    bytes_u64(bytes, session->last);
    bytes_u64(bytes, session->lease_ms);
    bytes_u64(bytes, session->keep);
    bytes_u64(bytes, session->opened);
    bytes_text(bytes, session->name, strlen(session->name));
    const char *holder = holder_name(service, session->holder);
    bytes_text(bytes, holder, strlen(holder));
}

/* Saves everything except the systems, which follow in separate sections. */
static void save_service(const struct service *service, struct bytes *bytes)
{
    bytes_u64(bytes, SERVICE_VERSION);
    bytes_u64(bytes, service->next_incident);
    bytes_u64(bytes, service->session_limit);
    /* free slots, in the order in which they will be used */
    bytes_u64(bytes, service->session_limit - service->session_count);
    for (uint32_t i = service->free_session; i != GORDIAN_NONE; i = service->sessions[i].next)
        bytes_u64(bytes, i);
    bytes_u64(bytes, service->session_count);
    for (uint32_t i = 0; i < service->session_limit; i++)
        if (service->sessions[i].in_use)
            save_session(service, i, bytes);
    bytes_u64(bytes, service->fence);
}

static void put_owner(struct bytes *bytes, uint32_t session)
{
    bytes_u64(bytes, (uint32_t)(session + 1)); /* GORDIAN_NONE is 0 */
}

/* What precedes the serialized state of a system, with its length: slot, open incidents, owners and
 * labels. */
static void save_head(const struct service *service, const struct served *served,
                      struct bytes *bytes)
{
    struct bytes head;
    bytes_init(&head, &bytes->memory);
    bytes_u64(&head, served->slot);
    incidents_save(served, &head);
    /* the sessions that opened it and added each resource, if they exist */
    char buffer[GORDIAN_NAME_MAX + 1];
    put_owner(&head, quota_opener(service, served));
    for (uint32_t q = 0; q < served_resource_limit(served); q++)
        if (served_resource_name(served, q, buffer))
            put_owner(&head, quota_adder(service, served, q));
    tags_save(&served->tags, &head);
    bytes_text(bytes, (const char *)head.data, head.used);
    bytes->failed |= head.failed;
    bytes_free(&head);
}

gordian_status service_save(struct service *service,
                            gordian_status (*put)(void *context, const char *name,
                                                  const void *bytes, size_t length,
                                                  gordian_error *error),
                            void *context, gordian_error *error)
{
    struct bytes bytes;
    bytes_init(&bytes, &service->memory);
    save_service(service, &bytes);
    gordian_status status = bytes.failed
                                ? fail_memory(error)
                                : put(context, SERVICE_SECTION, bytes.data, bytes.used, error);
    for (uint32_t i = 0; i < service->system_limit && status == GORDIAN_OK; i++) {
        char name[32];
        if (!service->systems[i])
            continue;
        snprintf(name, sizeof name, SYSTEM_SECTION "%u", i);
        bytes.used = 0;
        save_head(service, service->systems[i], &bytes);
        status = served_serialize(service->systems[i], &bytes, error);
        THEN(status, put(context, name, bytes.data, bytes.used, error));
    }
    bytes_free(&bytes);
    return status;
}

static gordian_status bad_snapshot(gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_INPUT, "the snapshot of the service is damaged");
}

static gordian_status load_session(struct service *service, struct bytes_in *in, uint64_t version,
                                   gordian_error *error)
{
    struct wire_hello hello = {0};
    uint32_t slot = (uint32_t)bytes_take_upto(in, UINT32_MAX - 1);
    const uint8_t *id = bytes_take(in, WIRE_SESSION_SIZE);
    uint64_t last = bytes_take_u64(in);
    hello.lease_ms = (uint32_t)bytes_take_upto(in, UINT32_MAX);
    hello.flags = (uint8_t)bytes_take_upto(in, 1);
    uint64_t opened = bytes_take_u64(in);
    hello.name.text = bytes_take_text(in, &hello.name.length);
    if (version >= 3)
        hello.token.text = bytes_take_text(in, &hello.token.length);
    if (in->bad || slot >= service->session_limit || service->sessions[slot].in_use)
        return bad_snapshot(error);
    memcpy(hello.session, id, WIRE_SESSION_SIZE);
    TRY(session_put(service, slot, &hello, error));
    service->sessions[slot].last = last;
    service->sessions[slot].opened = opened;
    return GORDIAN_OK;
}

/* Loads the order of the free slots, and the sessions in the others. */
static gordian_status load_slots(struct service *service, struct bytes_in *in, uint32_t limit,
                                 uint64_t version, gordian_error *error)
{
    uint64_t count = bytes_take_count(in);
    gordian_status status = GORDIAN_OK;
    TRY(session_reserve_slots(service, limit, error));
    uint32_t *order = memory_alloc(&service->memory, (count + 1) * sizeof *order);
    if (!order)
        return fail_memory(error);
    for (uint64_t i = 0; i < count; i++)
        order[i] = (uint32_t)bytes_take_upto(in, limit ? limit - 1 : 0);
    uint64_t sessions = bytes_take_count(in);
    if (in->bad || count + sessions != limit)
        status = bad_snapshot(error);
    for (uint64_t i = 0; i < sessions && status == GORDIAN_OK; i++)
        status = load_session(service, in, version, error);
    if (status == GORDIAN_OK && !session_order_free(service, order, (uint32_t)count))
        status = bad_snapshot(error);
    memory_free(&service->memory, order);
    return status;
}

static gordian_status load_service(struct service *service, struct bytes_in *in,
                                   gordian_error *error)
{
    uint64_t version = bytes_take_u64(in);
    if (version < 1 || version > SERVICE_VERSION)
        return fail(error, GORDIAN_STATUS_INPUT, "the snapshot has an unknown version");
    service->next_incident = bytes_take_u64(in);
    uint32_t limit = (uint32_t)bytes_take_upto(in, UINT32_MAX - 1);
    if (in->bad || limit > 64u << 20 || service->session_limit > 0)
        return bad_snapshot(error);
    TRY(load_slots(service, in, limit, version, error));
    if (version >= 4)
        service->fence = bytes_take_u64(in);
    if (in->bad || bytes_left(in) > 0)
        return bad_snapshot(error);
    /* the saved systems replace the systems of a new service */
    for (uint32_t i = 0; i < service->system_limit; i++)
        if (service->systems[i])
            service_drop_system(service, service->systems[i]);
    return GORDIAN_OK;
}

/* Restores the lists of processes of each session. The serialized system has the owner of each
 * process. */
static gordian_status own_processes(struct service *service, struct served *served,
                                    gordian_error *error)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    for (uint32_t p = 0; p < served_process_limit(served); p++) {
        struct served_process *record = &served->processes[p];
        uint32_t owner = record->owner;
        if (owner == GORDIAN_NONE)
            continue;
        if (!is_session_slot(service, owner) || !served_process_name(served, p, buffer))
            return bad_snapshot(error);
        if (!session_reserve(service, owner))
            return fail_memory(error);
        record->owner = GORDIAN_NONE;
        session_own(service, owner, served, p);
    }
    return GORDIAN_OK;
}

static bool take_owner(const struct service *service, struct bytes_in *in, uint32_t *session)
{
    *session = (uint32_t)bytes_take_upto(in, UINT32_MAX) - 1;
    return !in->bad && (*session == GORDIAN_NONE || is_session_slot(service, *session));
}

/* Restores the usage of quotas. */
static gordian_status load_owners(struct service *service, struct served *served,
                                  struct bytes_in *in, gordian_error *error)
{
    char buffer[GORDIAN_NAME_MAX + 1];
    uint32_t session;
    if (bytes_left(in) == 0)
        return GORDIAN_OK; /* version 1 has none */
    if (!take_owner(service, in, &session))
        return bad_snapshot(error);
    if (!served_reserve_adder(served))
        return fail_memory(error);
    quota_opened(service, session, served);
    for (uint32_t q = 0; q < served_resource_limit(served); q++) {
        const char *name = served_resource_name(served, q, buffer);
        if (!name)
            continue;
        if (!take_owner(service, in, &session))
            return bad_snapshot(error);
        quota_added(service, session, served, q, strlen(name));
    }
    return GORDIAN_OK;
}

struct labelled {
    struct service *service;
    struct served *served;
};

static gordian_status load_label(void *context, enum tags_of of, uint32_t id,
                                 const struct wire_text *texts, size_t count, gordian_error *error)
{
    const struct labelled *to = context;
    char buffer[GORDIAN_NAME_MAX + 1];
    bool process = of == TAGS_PROCESS;
    if (process ? !served_process_name(to->served, id, buffer)
                : !served_resource_name(to->served, id, buffer))
        return bad_snapshot(error);
    uint32_t payer =
        process ? to->served->processes[id].owner : quota_adder(to->service, to->served, id);
    return served_label(to->served, of, id, texts, count, payer, error);
}

static gordian_status load_system(struct service *service, const uint8_t *bytes, size_t length,
                                  gordian_error *error)
{
    struct bytes_in in = {.at = bytes, .end = bytes + length};
    struct served *served;
    uint64_t head = bytes_take_count(&in);
    if (in.bad || head > bytes_left(&in))
        return bad_snapshot(error);
    struct bytes_in first = {.at = in.at, .end = in.at + head};
    uint32_t slot = (uint32_t)bytes_take_upto(&first, 1u << 20);
    if (first.bad)
        return bad_snapshot(error);
    if (!service_reserve_system(service, slot))
        return fail_memory(error);
    if (service->systems[slot])
        return bad_snapshot(error);
    struct meter *meter = NULL;
    TRY(service_new_meter(service, &meter, error));
    gordian_status status =
        served_deserialize(&served, in.at + head, bytes_left(&in) - head,
                           meter ? meter_allocator(meter) : &service->memory, error);
    if (status != GORDIAN_OK) {
        meter_free(meter);
        return status;
    }
    served->meter = meter;
    service_add_system(service, slot, served);
    status = served_restored(served, error);
    THEN(status, own_processes(service, served, error));
    THEN(status, incidents_load(service, served, &first, error));
    THEN(status, load_owners(service, served, &first, error));
    if (bytes_left(&first) > 0) /* since version 5 */
        THEN(status, tags_load(&first, load_label, &(struct labelled){service, served}, error));
    if (status == GORDIAN_OK && (first.bad || bytes_left(&first) > 0))
        status = bad_snapshot(error);
    return status;
}

gordian_status service_load_section(struct service *service, const char *name, const void *bytes,
                                    size_t length, gordian_error *error)
{
    if (strncmp(name, SYSTEM_SECTION, strlen(SYSTEM_SECTION)) == 0)
        return load_system(service, bytes, length, error);
    if (strcmp(name, SERVICE_SECTION) != 0)
        return fail(error, GORDIAN_STATUS_INPUT, "unknown section '%.40s' in a snapshot", name);
    struct bytes_in in = {.at = bytes, .end = (const uint8_t *)bytes + length};
    return load_service(service, &in, error);
}

void service_resume(struct service *service)
{
    service->work->steady = service_steady(service); /* reading the journal is not a stall */
    service_begin(service);
    quota_set_limit(service);
    for (uint32_t i = 0; i < service->session_limit; i++) {
        struct session *session = &service->sessions[i];
        if (!session->in_use)
            continue;
        if (session->lease_ms == 0)
            session_lost(service, i); /* its connection was closed */
        else
            session_renew_lease(service, session);
    }
    service->started = service->work->now;
}

void service_skip_incidents(struct service *service, uint64_t last)
{
    if (service->next_incident <= last)
        service->next_incident = last + 1;
}

bool service_is_open(const struct service *service, uint64_t incident)
{
    for (uint32_t i = 0; i < service->system_limit; i++) {
        const struct served *served = service->systems[i];
        for (uint32_t j = 0; served && j < served->incident_limit; j++)
            if (served->incidents[j].id == incident)
                return true;
    }
    return false;
}
