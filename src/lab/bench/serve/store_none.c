/* Built without libpq. */
#include "lab/bench/serve/serve.h"

#include "foundation/base/error.h"

gordian_status serve_store(struct bench *bench, const char *store, const struct serve_load *load)
{
    (void)store, (void)load;
    return fail(bench->error, GORDIAN_STATUS_UNAVAILABLE,
                "--store: this gordian was built without libpq 14 or later");
}
