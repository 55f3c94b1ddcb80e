/* The PostgreSQL backend of a build without libpq: it always fails. */
#include "foundation/base/error.h"
#include "service/serve/store/store_internal.h"

static gordian_status open_none(struct store *store, struct store_found *found,
                                gordian_error *error)
{
    (void)store, (void)found;
    return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                "--store: this gordian was built without libpq 14 or later");
}

gordian_status store_ask_hand_over(const struct store_options *options, char from[STORE_ADDRESS],
                                   char to[STORE_ADDRESS], gordian_error *error)
{
    (void)options, (void)from, (void)to;
    return open_none(NULL, NULL, error);
}

gordian_status store_read_incidents(const struct store_options *options, bool replays,
                                    struct incidents_db **out, gordian_error *error)
{
    (void)options, (void)replays;
    *out = NULL;
    return open_none(NULL, NULL, error);
}

const struct store_backend backend_postgres = {.open = open_none};
