/*
 * Lease expiry, and the clock of leases.
 *
 * A session without a heartbeat for longer than its lease is lost. Any input counts as a heartbeat
 * when it *arrives*, so unread input is considered before a lease expires. Time in which the
 * service could not read does not count: the clock of leases stops while the service is stalled (a
 * stopped process, a suspended machine, a long iteration of the event loop). It advances by at most
 * STALL_MS at a time. It stops while the journal cannot be written: no client is answered then, and
 * nothing can be granted to another one.
 */
#include "service/serve/core/service_internal.h"

/* A longer gap between two readings of the clock is a stall: it is read every TICK_MS. */
#define STALL_MS (2 * TICK_MS)
/* Maximum delay of an expiry because of unread input. A flood of input cannot extend it. */
#define UNREAD_MS 1000

/* ------------------------------------------------------------------ the clock */

void lease_advance_clock(struct service *service)
{
    struct service_work *work = service->work;
    struct service_counters *counters = &service->counters;
    uint64_t steady = service_steady(service), gap = steady - work->steady;
    work->steady = steady;
    if (service_is_cut_off(service)) {
        gap = 0;
    } else if (gap > STALL_MS) {
        counters->stalls++;
        counters->stalled_ms += gap - TICK_MS;
        gap = TICK_MS;
    }
    work->lease += gap;
}

void session_renew_lease(struct service *service, struct session *session)
{
    struct service_work *work = service->work;
    if (session->lease_ms == 0) {
        session->deadline = UINT64_MAX;
        return;
    }
    session->deadline = work->lease + session->lease_ms;
    if (session->deadline < work->deadline)
        work->deadline = session->deadline;
}

/* ------------------------------------------------------------------ expiry */

static bool lease_expired(const struct service *service, const struct session *session)
{
    return session->in_use && !session->ending && session->deadline <= service->work->lease;
}

/* Is there unread input that may come from a disconnected session whose lease has just expired? */
static bool has_unread_input(const struct service *service)
{
    const struct service_options *options = &service->options;
    const struct service_work *work = service->work;
    uint64_t late = UNREAD_MS; /* of the session that expired last */
    for (uint32_t i = 0; i < service->session_limit; i++) {
        const struct session *session = &service->sessions[i];
        if (!session->client && lease_expired(service, session) &&
            work->lease - session->deadline < late)
            late = work->lease - session->deadline;
    }
    return late < UNREAD_MS && options->unheard &&
           options->unheard(options->unheard_context, work->steady - late);
}

void lease_expire(struct service *service)
{
    struct service_work *work = service->work;
    bool unheard = has_unread_input(service);
    work->deadline = UINT64_MAX;
    for (uint32_t i = 0; i < service->session_limit; i++) {
        const struct session *session = &service->sessions[i];
        struct client *client = session->client;
        bool over = lease_expired(service, session);
        /* May the session have sent input that was not read yet? */
        if (over && (client ? client->has_more && client->has_more(client)
                            : unheard && work->lease - session->deadline < UNREAD_MS))
            over = false;
        if (over) {
            session_lost(service, i);
            if (client) {
                client_error(client, WIRE_NO_SESSION, 0, 0,
                             "lease expired: nothing was received from the client");
                client->closing = true;
                client_wake(client);
            }
        } else if (session->in_use && !session->ending && session->deadline < work->deadline) {
            work->deadline = session->deadline;
        }
    }
}
