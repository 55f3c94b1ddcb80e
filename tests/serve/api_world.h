/* What a service with HTTP needs around it in a test: a journal that is a store, and nobody to
 * wake. */
#ifndef GORDIAN_TESTS_SERVE_API_WORLD_H
#define GORDIAN_TESTS_SERVE_API_WORLD_H

#include "service/serve/http/api.h"

static bool always_ready(void *context, const char **why)
{
    (void)context;
    (void)why;
    return true;
}

static uint64_t put_record(void *context, uint64_t at, const void *bytes, size_t length)
{
    return store_append(context, at, bytes, length);
}

static gordian_status put_incident(void *context, const struct incident *incident)
{
    return store_incident(context, incident);
}

static uint64_t last_record(void *context)
{
    return store_last(context);
}

static void no_wake(struct client *who)
{
    (void)who;
}

static struct service_journal store_journal(struct store *store)
{
    return (struct service_journal){
        .context = store, .append = put_record, .incident = put_incident, .last = last_record};
}

#endif
