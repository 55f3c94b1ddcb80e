/* Sessions: their table, their processes, and their end. */
#include "service/serve/core/service_internal.h"

#include <string.h>
#include <sys/random.h>

/* The largest slot in a record. The limits of the service are smaller. */
#define SLOT_MAX (1u << 26)
/* How many processes of lost sessions are dropped at once: a fraction of a millisecond. */
#define DROP_STEP 512
/* Memory of an empty session: its records and its connection. */
#define SESSION_BYTES 1024

/* ------------------------------------------------------------------ the table */

/* Session ids are random. */
static uint64_t session_id_hash(const void *context, uint32_t slot)
{
    const struct service *service = context;
    return wire_load64(service->sessions[slot].id);
}

static void hash_sessions(const void *context, struct hash *table)
{
    const struct service *service = context;
    for (uint32_t i = 0; i < service->session_limit; i++)
        if (service->sessions[i].in_use)
            hash_put(table, session_id_hash(service, i), i);
}

/* Returns the slot of a session and its place in the hash table; GORDIAN_NONE: not found. */
static uint32_t session_find_place(const struct service *service,
                                   const uint8_t id[WIRE_SESSION_SIZE], uint32_t *place)
{
    struct hash_probe probe = hash_probe(&service->session_ids, wire_load64(id));
    while (hash_meet(&service->session_ids, &probe)) {
        *place = probe.slot;
        if (memcmp(service->sessions[probe.number].id, id, WIRE_SESSION_SIZE) == 0)
            return probe.number;
    }
    return GORDIAN_NONE;
}

static uint32_t session_find(const struct service *service, const uint8_t id[WIRE_SESSION_SIZE])
{
    uint32_t place;
    return session_find_place(service, id, &place);
}

/* Makes slots up to this one exist. New slots are free. */
static bool reserve_slot(struct service *service, uint32_t slot)
{
    if (!memory_grow32(&service->memory, &service->sessions, &service->session_room, slot + 1,
                       sizeof *service->sessions) ||
        !memory_grow32(&service->memory, &service->accounts, &service->account_room, slot + 1,
                       sizeof *service->accounts) ||
        !hash_reserve(&service->session_ids, &service->memory, slot + 1, slot + 1, hash_sessions,
                      service))
        return false;
    uint32_t first = service->session_limit;
    for (uint32_t i = slot + 1; i-- > first;) { /* the lowest new slot is used first */
        service->sessions[i] =
            (struct session){.next = service->free_session, .holder = GORDIAN_NONE};
        service->free_session = i;
    }
    service->session_limit = slot >= first ? slot + 1 : first;
    return true;
}

gordian_status session_reserve_slots(struct service *service, uint32_t count, gordian_error *error)
{
    return count == 0 || reserve_slot(service, count - 1) ? GORDIAN_OK : fail_memory(error);
}

bool session_order_free(struct service *service, const uint32_t *order, uint32_t count)
{
    /* `order` must have every free slot once. Only then is it made the new list of free slots. */
    uint32_t free_count = 0;
    for (uint32_t i = 0; i < service->session_limit; i++) {
        free_count += !service->sessions[i].in_use;
        if (!service->sessions[i].in_use)
            service->sessions[i].next = i; /* not in the new list yet */
    }
    if (free_count != count)
        return false;
    uint32_t next = GORDIAN_NONE;
    for (uint32_t i = count; i-- > 0;) {
        struct session *session = &service->sessions[order[i]];
        if (session->in_use || session->next != order[i])
            return false;
        session->next = next;
        next = order[i];
    }
    service->free_session = next;
    return true;
}

void sessions_free(struct service *service)
{
    for (uint32_t i = 0; i < service->session_limit; i++)
        memory_free(&service->memory, service->sessions[i].shares);
    memory_free_all(&service->memory, service->sessions, service->accounts);
    hash_free(&service->session_ids, &service->memory);
}

/* ------------------------------------------------------------------ hello */

gordian_status session_put(struct service *service, uint32_t slot, const struct wire_hello *hello,
                           gordian_error *error)
{
    if (slot > SLOT_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "there is no session %u", slot);
    if (!reserve_slot(service, slot))
        return fail_memory(error);
    struct session *session = &service->sessions[slot];
    if (!session->in_use) {
        uint32_t *link = &service->free_session;
        while (*link != slot)
            link = &service->sessions[*link].next;
        *link = session->next;
        *session =
            (struct session){.in_use = true, .holder = GORDIAN_NONE, .serial = ++service->serials};
        service->accounts[slot] = SESSION_BYTES;
        service->session_count++;
        memcpy(session->id, hello->session, sizeof session->id);
        session->opened = service->work->now;
        hash_put(&service->session_ids, session_id_hash(service, slot), slot);
    }
    holder_take(service, slot, holder_find(service, hello->token.text, hello->token.length));
    session->lease_ms = hello->lease_ms;
    session->keep = hello->flags & WIRE_KEEP;
    size_t length = hello->name.length < SESSION_NAME_MAX ? hello->name.length : SESSION_NAME_MAX;
    memcpy(session->name, hello->name.text, length);
    session->name[length] = '\0';
    return GORDIAN_OK;
}

static gordian_status record_hello(struct service *service, uint32_t slot,
                                   const struct wire_hello *hello, gordian_error *error)
{
    size_t size = wire_put_hello(NULL, 0, hello);
    TRY(record_begin(service, RECORD_SESSION, slot, GORDIAN_NONE, size, error));
    TRY(session_put(service, slot, hello, error));
    record_append_body(service, wire_put_hello(record_end(service), size, hello));
    return GORDIAN_OK;
}

static uint32_t granted_lease(const struct service *service, const struct wire_hello *hello)
{
    uint32_t most = service->options.limits.lease_max_ms;
    return hello->lease_ms < most ? hello->lease_ms : most;
}

uint32_t session_same(const struct service *service, const struct wire_hello *hello)
{
    uint32_t slot = session_find(service, hello->session);
    if (slot == GORDIAN_NONE)
        return GORDIAN_NONE;
    const struct session *session = &service->sessions[slot];
    const char *holder = holder_name(service, session->holder);
    size_t length = hello->name.length < SESSION_NAME_MAX ? hello->name.length : SESSION_NAME_MAX;
    bool same = !session->ending && session->lease_ms == granted_lease(service, hello) &&
                session->keep == ((hello->flags & WIRE_KEEP) != 0) &&
                strlen(holder) == hello->token.length &&
                memcmp(holder, hello->token.text, hello->token.length) == 0 &&
                strlen(session->name) == length &&
                memcmp(session->name, hello->name.text, length) == 0;
    return same ? slot : GORDIAN_NONE;
}

/* Makes a random id, which cannot be guessed. */
static bool new_id(struct service *service, uint8_t id[WIRE_SESSION_SIZE])
{
    static const uint8_t zeros[WIRE_SESSION_SIZE];
    do {
        if (getrandom(id, WIRE_SESSION_SIZE, 0) != WIRE_SESSION_SIZE)
            return false;
    } while (memcmp(id, zeros, sizeof zeros) == 0 || session_find(service, id) != GORDIAN_NONE);
    return true;
}

gordian_status session_hello(struct service *service, const struct wire_hello *hello,
                             uint32_t *slot, gordian_error *error)
{
    static const uint8_t zeros[WIRE_SESSION_SIZE];
    const struct service_limits *limits = &service->options.limits;
    struct wire_hello next = *hello;
    next.lease_ms = granted_lease(service, hello);
    if (memcmp(hello->session, zeros, sizeof zeros) != 0) {
        *slot = session_find(service, hello->session);
        if (*slot == GORDIAN_NONE || service->sessions[*slot].ending)
            return FAIL_WITH(service, WIRE_NO_SESSION, error,
                             "no such session: it has ended or never existed");
        return record_hello(service, *slot, &next, error);
    }
    if (service->session_count >= limits->sessions)
        return FAIL_WITH(service, WIRE_QUOTA, error, "too many sessions: the limit is %u",
                         service->session_count);
    if (!new_id(service, next.session))
        return FAIL_WITH(service, WIRE_NO_MEMORY, error, "no random numbers available");
    *slot = service->free_session != GORDIAN_NONE ? service->free_session : service->session_limit;
    return record_hello(service, *slot, &next, error);
}

gordian_status session_ensure(struct client *client, gordian_error *error)
{
    struct service *service = client->service;
    uint32_t slot;
    if (client->session != GORDIAN_NONE)
        return GORDIAN_OK;
    const char *holder = holder_name(service, client->holder);
    const struct wire_hello hello = {.token = {holder, strlen(holder)},
                                     .name = {client->label, strlen(client->label)}};
    TRY(session_hello(service, &hello, &slot, error));
    client->session = slot;
    service->sessions[slot].client = client;
    session_renew_lease(service, &service->sessions[slot]);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ its processes */

static struct session_share *share_of(struct session *session, uint32_t system)
{
    for (uint32_t i = 0; i < session->share_count; i++)
        if (session->shares[i].system == system)
            return &session->shares[i];
    return NULL;
}

bool session_reserve(struct service *service, uint32_t slot)
{
    if (slot == GORDIAN_NONE)
        return true;
    struct session *session = &service->sessions[slot];
    return memory_grow32(&service->memory, &session->shares, &session->share_room,
                         session->share_count + 1, sizeof *session->shares);
}

void session_own(struct service *service, uint32_t slot, struct served *served, uint32_t process)
{
    if (slot == GORDIAN_NONE || served->processes[process].owner != GORDIAN_NONE)
        return;
    struct session *session = &service->sessions[slot];
    struct session_share *share = share_of(session, served->slot);
    if (!share) {
        share = &session->shares[session->share_count++];
        *share = (struct session_share){served->slot, GORDIAN_NONE};
    }
    served_set_owner(served, process, slot, &share->head);
    session->processes++;
    holder_count(service, slot, 1, 0);
    service->accounts[slot] += served_process_cost(served, process);
}

void session_disown(struct service *service, struct served *served, uint32_t process)
{
    uint32_t owner = served->processes[process].owner;
    if (owner == GORDIAN_NONE)
        return;
    struct session *session = &service->sessions[owner];
    struct session_share *share = share_of(session, served->slot);
    quota_disown(service, owner, served, process);
    served_drop_owner(served, process, &share->head);
    session->processes--;
    holder_count(service, owner, -1, 0);
    if (share->head == GORDIAN_NONE)
        *share = session->shares[--session->share_count];
}

/* ------------------------------------------------------------------ the end */

void session_lost(struct service *service, uint32_t slot)
{
    struct session *session = &service->sessions[slot];
    if (session->client) {
        session->client->session = GORDIAN_NONE;
        session->client = NULL;
    }
    if (session->ending)
        return;
    session->ending = true;
    service->work->ending++;
    service->counters.leases_ended += session->lease_ms > 0;
}

void session_forget(struct service *service, uint32_t slot)
{
    struct session *session = &service->sessions[slot];
    uint32_t place;
    while (session->share_count > 0) /* its processes stay, without an owner */
        session_disown(service, service->systems[session->shares[0].system],
                       session->shares[0].head);
    holder_take(service, slot, GORDIAN_NONE);
    service->work->ending -= session->ending;
    session_find_place(service, session->id, &place);
    hash_remove(&service->session_ids, place, session_id_hash, service);
    memory_free(&service->memory, session->shares);
    *session = (struct session){.next = service->free_session, .holder = GORDIAN_NONE};
    service->free_session = slot;
    service->session_count--;
}

/* Ends and removes one process of a lost session. */
static bool drop_process(struct service *service, struct served *served, uint32_t process)
{
    struct apply_events events = {.served = served, .session = GORDIAN_NONE, .how = "lost"};
    gordian_event event = {
        .op = GORDIAN_OP_EXIT, .process = process, .resource = GORDIAN_NONE, .to = GORDIAN_NONE};
    if (apply_event(service, &events, &event, NULL) ||
        service->work->results[0].outcome == WIRE_NOT_TAKEN)
        return false;
    served->counters.lost++;
    return served->operations->forgets ||
           apply_removal(service, served, WIRE_PROCESS, process, NULL) == 0;
}

/* Drops the processes of one lost session. False: not finished. */
static bool drop_from(struct service *service, uint32_t slot, uint32_t *budget)
{
    const struct session *session = &service->sessions[slot];
    for (uint32_t i = session->share_count; i-- > 0;) {
        struct session_share share = session->shares[i];
        struct served *served = service->systems[share.system];
        if (session->keep || served->config.on_loss == SERVED_KEEP)
            continue;
        for (uint32_t p = share.head; p != GORDIAN_NONE;) {
            uint32_t next = served->processes[p].next;
            if (*budget == 0 || !drop_process(service, served, p))
                return false;
            --*budget;
            p = next;
        }
    }
    if (record_begin(service, RECORD_END, slot, GORDIAN_NONE, 0, NULL))
        return false;
    session_forget(service, slot);
    record_append(service);
    return true;
}

bool session_drop_step(struct service *service)
{
    const char *why;
    uint32_t budget = DROP_STEP;
    for (uint32_t i = 0; i < service->session_limit && service->work->ending > 0; i++) {
        if (!service->sessions[i].in_use || !service->sessions[i].ending)
            continue;
        if (!service_may_change(service, &why) || !drop_from(service, i, &budget))
            break;
    }
    return service->work->ending > 0;
}
