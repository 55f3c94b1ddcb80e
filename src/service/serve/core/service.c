/* The service: opening and closing, clients, rate limits, periodic work. */
#include "service/serve/core/service.h"

#include "foundation/base/clock.h"
#include "service/serve/core/service_internal.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define QUESTION_MS 2  /* how often to check whether a query was answered */
#define KEPT_MS     10 /* how often to check whether the journal takes records again */

/* ------------------------------------------------------------------ options */

void service_options_init(struct service_options *options)
{
    *options = (struct service_options){
        .limits =
            {
                .systems = 64,
                .sessions = 65536,
                .clients = 10000,
                .names = 16000000,
                .session_names = 4000000,
                .session_resources = 4000000,
                .session_systems = 16,
                .session_memory = 1u << 30,
                .lease_max_ms = 24u * 3600 * 1000,
                .incidents_second = 10,
            },
    };
}

/* ------------------------------------------------------------------ time */

uint64_t service_now(const struct service *service)
{
    const struct service_options *options = &service->options;
    return options->clock ? options->clock(options->clock_context) : wall_ms();
}

uint64_t service_steady(const struct service *service)
{
    const struct service_options *options = &service->options;
    return options->steady ? options->steady(options->clock_context) : clock_ms();
}

void service_begin(struct service *service)
{
    service->work->now = service_now(service);
    lease_advance_clock(service);
    service->work->code = 0;
    service->work->retry_ms = 0;
    quota_begin(service);
}

/* ------------------------------------------------------------------ the journal */

bool service_may_change(struct service *service, const char **why)
{
    const struct service_journal *journal = &service->options.journal;
    *why = service->standby_reason;
    if (service->standby_reason[0])
        return false;
    if (service->append_pending)
        record_append(service);
    if (service->append_pending) {
        *why = "no memory for the journal";
        return false;
    }
    return !journal->healthy || journal->healthy(journal->context, why);
}

bool service_is_cut_off(const struct service *service)
{
    const struct service_journal *journal = &service->options.journal;
    const char *why;
    return service->standby_reason[0] || service->append_pending ||
           (journal->healthy && !journal->healthy(journal->context, &why)) ||
           (journal->sure && !journal->sure(journal->context));
}

void service_become_standby(struct service *service, const char *leader)
{
    service->standby_reason[0] = '\0';
    if (leader)
        snprintf(service->standby_reason, sizeof service->standby_reason,
                 "this server is a standby; " WIRE_LEADER_IS "%s", *leader ? leader : "unknown");
}

uint64_t service_last(const struct service *service)
{
    const struct service_journal *journal = &service->options.journal;
    uint64_t last = journal->last ? journal->last(journal->context) : 0;
    return last + service->append_pending;
}

/* ------------------------------------------------------------------ opening, closing */

static gordian_status open_work(struct service *service, gordian_error *error)
{
    struct service_work *work = memory_zeroed(&service->memory, sizeof *work);
    if (!work)
        return fail_memory(error);
    service->work = work;
    bytes_init(&work->record, &service->memory);
    work->wants = memory_alloc(&service->memory, WANTS * sizeof *work->wants);
    if (!work->wants)
        return fail_memory(error);
    work->text.fd = work->more.fd = work->third.fd = work->stuck.fd = work->replay.fd = -1;
    work->labels.fd = -1;
    work->deadline = UINT64_MAX;
    work->steady = service_steady(service);
    service_begin(service);
    return lines_open(service, error);
}

static struct service *allocate_service(const struct service_options *options)
{
    gordian_allocator memory = memory_allocator(options->allocator);
    struct service *service = memory_zeroed(&memory, sizeof *service);
    if (!service)
        return NULL;
    service->memory = memory;
    service->options = *options;
    service->free_session = GORDIAN_NONE;
    service->next_incident = 1;
    if (options->allocator)
        return service;
    service->meter = meter_new(NULL);
    if (!service->meter) {
        memory_free(&memory, service);
        return NULL;
    }
    service->memory = *meter_allocator(service->meter);
    return service;
}

gordian_status service_new(struct service **out, const struct service_options *options,
                           gordian_error *error)
{
    const struct wire_open open = {.name = {DEFAULT_SYSTEM, strlen(DEFAULT_SYSTEM)},
                                   .kind = SERVED_DETECT,
                                   .options = {"", 0}};
    struct service *service = allocate_service(options);
    *out = NULL;
    if (!service)
        return fail_memory(error);
    gordian_status status = open_work(service, error);
    THEN(status, service_put_system(service, 0, &open, error));
    if (status != GORDIAN_OK) {
        service_free(service);
        return status;
    }
    service->started = service->work->now;
    *out = service;
    return GORDIAN_OK;
}

void service_free(struct service *service)
{
    if (!service)
        return;
    struct service_work *work = service->work;
    while (service->clients)
        service_detach(service->clients);
    for (uint32_t i = 0; i < service->system_limit; i++)
        service_close_served(service->systems[i]);
    memory_free_all(&service->memory, service->systems, service->holders);
    sessions_free(service);
    if (work) {
        struct output *outputs[] = {&work->text,   &work->more,  &work->third,
                                    &work->labels, &work->stuck, &work->replay};
        gordian_trace_close(&work->trace);
        bytes_free(&work->record);
        for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
            output_close(outputs[i]);
        memory_free_all(&service->memory, work->wants, work->results, work->served, work->ids,
                        work);
    }
    gordian_allocator memory = memory_allocator(service->options.allocator);
    meter_free(service->meter);
    memory_free(&memory, service);
}

/* ------------------------------------------------------------------ clients */

gordian_status service_attach(struct service *service, struct client *client,
                              enum service_rights rights, gordian_error *error)
{
    if (service->client_count >= service->options.limits.clients) {
        service->counters.refused++;
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "too many clients: the limit is %u",
                    service->client_count);
    }
    client->service = service;
    client->rights = rights;
    client->subscriptions = WIRE_MY_GRANTS;
    client->system = GORDIAN_NONE;
    client->session = GORDIAN_NONE;
    client->holder = GORDIAN_NONE;
    client->out.fd = -1;
    const struct served *served = service_find(service, DEFAULT_SYSTEM, strlen(DEFAULT_SYSTEM));
    if (served)
        client->system = served->slot;
    client->prev = NULL;
    client->next = service->clients;
    if (client->next)
        client->next->prev = client;
    service->clients = client;
    service->client_count++;
    service->counters.connections++;
    client->events = (struct rate_bucket){(int64_t)service->options.limits.events_a_second * 1000,
                                          service_steady(service)};
    return GORDIAN_OK;
}

/* Starts the lease of the client's session, or ends the session if it has none. */
static void leave_session(struct client *client)
{
    struct service *service = client->service;
    if (client->session == GORDIAN_NONE)
        return;
    struct session *session = &service->sessions[client->session];
    session->client = NULL;
    if (session->lease_ms == 0) {
        session_lost(service, client->session);
    } else {
        lease_advance_clock(service);
        session_renew_lease(service, session);
    }
    client->session = GORDIAN_NONE;
}

void client_drop_question(struct client *client)
{
    question_forget(client->question);
    client->question = NULL;
}

void service_detach(struct client *client)
{
    struct service *service = client->service;
    client_subscribe(client, 0, NULL);
    leave_session(client);
    *(client->prev ? &client->prev->next : &service->clients) = client->next;
    if (client->next)
        client->next->prev = client->prev;
    service->client_count--;
    frame_free(client);
    client_drop_question(client);
    gordian_allocator memory = memory_allocator(NULL);
    memory_free(&memory, client->out.buffer);
    client->out = (struct output){.fd = -1};
}

gordian_status client_subscribe(struct client *client, uint8_t mask, gordian_error *error)
{
    struct service *service = client->service;
    uint32_t *everything = &service->work->everything;
    if (service->standby_reason[0] && mask & (uint8_t)~WIRE_MY_GRANTS) {
        service->work->retry_ms = 1000;
        return FAIL_WITH(service, WIRE_NOT_LEADER, error, "%s", service->standby_reason);
    }
    *everything -= (client->subscriptions & WIRE_EVERYTHING) != 0;
    *everything += (mask & WIRE_EVERYTHING) != 0;
    client->subscriptions = mask;
    return GORDIAN_OK;
}

/* Connects a client with a session, and disconnects the session's previous client. */
static void join_session(struct client *client, uint32_t slot)
{
    struct service *service = client->service;
    struct session *session = &service->sessions[slot];
    struct client *other = session->client;
    if (client->session != GORDIAN_NONE && client->session != slot)
        leave_session(client);
    if (other && other != client) {
        other->session = GORDIAN_NONE;
        client_error(other, WIRE_TAKEN_OVER, 0, 0, "another connection took over the session");
        client_wake(other);
    }
    session->client = client;
    client->session = slot;
    session_renew_lease(service, session);
}

/* Sets the rights of the token. Deselects the system in use if the token does not permit it. */
static gordian_status authorise_client(struct client *client, struct wire_text token,
                                       gordian_error *error)
{
    struct service *service = client->service;
    const struct service_options *options = &service->options;
    struct service_grant grant = {.rights = SERVICE_WRITE};
    if (client->rights != SERVICE_NOTHING)
        return GORDIAN_OK;
    if (options->authorise) {
        grant = (struct service_grant){.holder = "", .systems = ""};
        options->authorise(options->authorise_context, token.text, token.length, &grant);
    }
    client->rights = grant.rights;
    if (client->rights == SERVICE_NOTHING) {
        client->guessed = token.length > 0;
        return FAIL_WITH(service, WIRE_NOT_ALLOWED, error,
                         token.length ? "the token is wrong" : "a token is needed");
    }
    if (!options->authorise)
        return GORDIAN_OK;
    client->holder = holder_find(service, grant.holder, strlen(grant.holder));
    if (client->holder != GORDIAN_NONE)
        holder_set(service, client->holder, &grant);
    const struct served *served = service_system(service, client->system);
    if (served && !service_is_permitted(service, client->holder, served->name))
        client->system = GORDIAN_NONE;
    return GORDIAN_OK;
}

gordian_status client_hello(struct client *client, const struct wire_hello *hello,
                            gordian_error *error)
{
    static const uint8_t zeros[WIRE_SESSION_SIZE];
    struct service *service = client->service;
    TRY(authorise_client(client, hello->token, error));
    if (!client_may_write(client))
        return GORDIAN_OK; /* a client that only queries has no session */
    struct wire_hello mine = *hello;
    const char *holder = holder_name(service, client->holder);
    mine.token = (struct wire_text){holder, strlen(holder)}; /* the name, not the secret */
    if (client->session != GORDIAN_NONE && memcmp(hello->session, zeros, sizeof zeros) == 0)
        memcpy(mine.session, service->sessions[client->session].id, sizeof mine.session);
    uint32_t slot = session_same(service, &mine); /* without a record */
    if (slot == GORDIAN_NONE ||
        service->standby_reason[0]) /* on a standby, sessions belong to the leader */
        TRY(client_may_change(client, error));
    if (slot == GORDIAN_NONE)
        TRY(session_hello(service, &mine, &slot, error));
    join_session(client, slot);
    return GORDIAN_OK;
}

void client_welcomed(struct client *client, size_t start)
{
    const struct service *service = client->service;
    if (client->session != GORDIAN_NONE && service_is_cut_off(service))
        client_skip_journal(client, start, service->sessions[client->session].record);
}

bool client_may_write(const struct client *client)
{
    return client->rights & SERVICE_SEND;
}

gordian_status client_may_change(struct client *client, gordian_error *error)
{
    struct service *service = client->service;
    const char *why;
    if (!client_may_write(client))
        return FAIL_WITH(service, WIRE_NOT_ALLOWED, error, "the token is read-only");
    if (service_may_change(service, &why))
        return GORDIAN_OK;
    service->work->retry_ms = 1000;
    return FAIL_WITH(service, WIRE_NOT_KEPT, error, "%s", why);
}

gordian_status client_system(struct client *client, struct served **served, gordian_error *error)
{
    *served = service_system(client->service, client->system);
    return *served ? GORDIAN_OK
                   : FAIL_WITH(client->service, WIRE_NO_SYSTEM, error, "no system is in use");
}

gordian_status client_may_open(const struct client *client, const struct wire_open *open,
                               gordian_error *error)
{
    char name[GORDIAN_NAME_MAX + 1] = "";
    if (open->name.length <= GORDIAN_NAME_MAX)
        memcpy(name, open->name.text, open->name.length);
    if (!service_is_permitted(client->service, client->holder, name))
        return FAIL_WITH(client->service, WIRE_NOT_ALLOWED, error,
                         "the token does not permit this system");
    if (client->rights & SERVICE_ADMINISTER ||
        service_find(client->service, open->name.text, open->name.length))
        return GORDIAN_OK; /* it only selects an existing system */
    return FAIL_WITH(client->service, WIRE_NOT_ALLOWED, error, "the token may not open systems");
}

bool client_may_end(const struct client *client, const struct served *served, uint32_t process)
{
    uint32_t owner =
        process < served->process_room ? served->processes[process].owner : GORDIAN_NONE;
    return client->rights & SERVICE_END_OTHERS || owner == GORDIAN_NONE || owner == client->session;
}

gordian_status client_may_modify(const struct client *client, const struct served *served,
                                 uint8_t what, uint32_t id, const char *verb, gordian_error *error)
{
    if (what != WIRE_PROCESS || client_may_end(client, served, id))
        return GORDIAN_OK;
    return FAIL_WITH(client->service, WIRE_NOT_ALLOWED, error,
                     "the token may not %s processes of other sessions", verb);
}

/* ------------------------------------------------------------------ rate limits */

/* Refills a bucket at `rate` events per second (0: no limit), at most with one second's worth.
 * False: it is empty. */
static bool refill_bucket(struct rate_bucket *bucket, uint64_t now, uint64_t rate)
{
    int64_t most = (int64_t)rate * 1000;
    uint64_t past = now - bucket->refilled;
    if (rate == 0)
        return true;
    bucket->refilled = now;
    bucket->level += (int64_t)((past < 1000 ? past : 1000) * rate);
    if (past > 0 && bucket->level > most)
        bucket->level = most;
    return bucket->level > 0;
}

/* The token of a client, if it has a rate limit. */
static struct holder *limited_holder(const struct client *client)
{
    const struct service *service = client->service;
    struct holder *holder =
        client->holder < service->holder_count ? &service->holders[client->holder] : NULL;
    return holder && holder->max_events > 0 ? holder : NULL;
}

bool client_may_spend(struct client *client)
{
    struct service *service = client->service;
    uint64_t now = service->work->steady;
    struct holder *holder = limited_holder(client);
    bool may = refill_bucket(&client->events, now, service->options.limits.events_a_second);
    if (holder)
        may &= refill_bucket(&holder->events, now, holder->max_events);
    service->counters.throttled += !may;
    return may;
}

void client_spend(struct client *client, uint64_t events)
{
    struct holder *holder = limited_holder(client);
    if (client->service->options.limits.events_a_second > 0)
        client->events.level -= (int64_t)events * 1000;
    if (holder)
        holder->events.level -= (int64_t)events * 1000;
}

static uint32_t bucket_delay(const struct rate_bucket *bucket, uint64_t rate)
{
    if (rate == 0 || bucket->level > 0)
        return 0;
    uint64_t ms = (uint64_t)-bucket->level / rate + 1;
    return ms < 60000 ? (uint32_t)ms : 60000;
}

uint32_t service_backpressure_ms(const struct client *client)
{
    const struct holder *holder = limited_holder(client);
    uint32_t ms = bucket_delay(&client->events, client->service->options.limits.events_a_second);
    uint32_t shared = holder ? bucket_delay(&holder->events, holder->max_events) : 0;
    if (client->frame.begun) /* all its events were counted before */
        return client->frame.waits ? KEPT_MS : 0;
    if (ms == 0 && shared == 0)
        return client->question ? QUESTION_MS : 0;
    return ms > shared ? ms : shared;
}

/* ------------------------------------------------------------------ input */

static size_t detect_form(struct client *client, const unsigned char *bytes, size_t count,
                          size_t *wanted)
{
    *wanted = 1;
    if (count == 0)
        return 0;
    if (bytes[0] != 0) {
        client->form = CLIENT_LINES;
        return 0;
    }
    *wanted = WIRE_START_SIZE;
    if (count < WIRE_START_SIZE && memcmp(bytes, WIRE_START, count < 4 ? count : 4) == 0)
        return 0;
    client->form = CLIENT_BINARY;
    if (memcmp(bytes, WIRE_START, 4) != 0)
        client_error(client, WIRE_MALFORMED, 0, 0, "not the protocol of gordian serve");
    else if (memcmp(bytes, WIRE_START, WIRE_START_SIZE) != 0)
        client_error(client, WIRE_BAD_VERSION, 0, 0,
                     "unsupported protocol version: this server supports version 1");
    return count < WIRE_START_SIZE ? count : WIRE_START_SIZE;
}

bool client_had_enough(const struct client *client)
{
    return client->out.used > TAKE_ANSWERS_MAX ||
           clock_ns() - client->service->work->began > TAKE_NS_MAX;
}

size_t service_take(struct client *client, const void *bytes, size_t count, size_t budget,
                    size_t *wanted)
{
    struct service *service = client->service;
    const unsigned char *at = bytes;
    size_t used = 0;
    *wanted = 1;
    service->work->unmarked = client->out.used;
    service_begin(service);
    service->work->began = clock_ns();
    if (client->form == CLIENT_UNKNOWN)
        used = detect_form(client, at, count, wanted);
    if (client->form != CLIENT_UNKNOWN && !client->closing)
        used += (client->form == CLIENT_BINARY ? binary_take : lines_take)(
            client, at + used, count - used, budget, wanted);
    if (client->session != GORDIAN_NONE && used > 0)
        session_renew_lease(service, &service->sessions[client->session]);
    if (client->out.used != service->work->unmarked)
        client->mark = service_last(service);
    return used;
}

void service_heartbeat(struct client *client)
{
    struct service *service = client->service;
    if (client->session == GORDIAN_NONE)
        return;
    lease_advance_clock(service);
    session_renew_lease(service, &service->sessions[client->session]);
}

void service_refuse(struct client *client, unsigned code, uint32_t retry_ms, const char *text)
{
    client->closing = true;             /* makes the error fatal */
    if (client->form != CLIENT_UNKNOWN) /* otherwise the client would misread it */
        client_error(client, code, retry_ms, 0, text);
    client->mark = service_last(client->service);
}

/* ------------------------------------------------------------------ periodic work */

uint32_t service_tick(struct service *service)
{
    const char *why;
    service_begin(service);
    service_may_change(service, &why); /* retries a failed append */
    if (service->work->deadline <= service->work->lease)
        lease_expire(service);
    bool more = incidents_walk(service);
    if (service->work->ending > 0 && session_drop_step(service))
        more |= service_may_change(service, &why);
    return more ? 0 : TICK_MS;
}

bool service_is_busy(const struct service *service)
{
    return service->work->ending > 0 || service->work->walking > 0 || service->append_pending;
}

/* ------------------------------------------------------------------ systems and observers */

struct served *service_find(const struct service *service, const char *name, size_t length)
{
    for (uint32_t i = 0; i < service->system_limit; i++) {
        struct served *served = service->systems[i];
        if (served && strlen(served->name) == length && memcmp(served->name, name, length) == 0)
            return served;
    }
    return NULL;
}

void service_watch(struct service *service, struct service_watcher *watcher)
{
    watcher->next = service->watchers;
    service->watchers = watcher;
}

void service_unwatch(struct service *service, struct service_watcher *watcher)
{
    struct service_watcher **link = &service->watchers;
    while (*link && *link != watcher)
        link = &(*link)->next;
    if (*link)
        *link = watcher->next;
}

void service_set_limits(struct service *service, const struct service_limits *limits)
{
    service->options.limits = *limits;
    quota_set_limit(service);
}
