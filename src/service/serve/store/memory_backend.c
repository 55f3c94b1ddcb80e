/* The backend that stores nothing: every record counts as committed at once, and incidents live in
 * memory. */
#include "service/serve/store/store_internal.h"

#include "foundation/base/error.h"

static gordian_status open_memory(struct store *store, struct store_found *found,
                                  gordian_error *error)
{
    bool damaged;
    (void)found;
    TRY(history_open(&store->history, NULL, true, &damaged, error));
    return incidents_share(&store->reader, store->history.db, &store->memory, error);
}

const struct store_backend backend_memory = {
    .open = open_memory,
};
