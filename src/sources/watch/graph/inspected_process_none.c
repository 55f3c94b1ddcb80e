/* A replacement for builds without gordian inspect. */
#include "foundation/base/error.h"
#include "sources/watch/graph/inspected_process.h"

gordian_status inspector_open(struct source **out, uint32_t pid, const struct source_pace *pace,
                              const gordian_allocator *memory, gordian_error *error)
{
    (void)out, (void)pid, (void)pace, (void)memory;
    return fail(error, GORDIAN_STATUS_UNAVAILABLE, "built without gordian inspect");
}

void inspector_close(struct inspector *inspector)
{
    (void)inspector;
}

void inspector_scan(struct source *source, bool needed)
{
    (void)source, (void)needed;
}

bool inspector_owns(const struct inspector *inspector, const struct session *session,
                    const struct server_facts *facts)
{
    (void)inspector, (void)session, (void)facts;
    return false;
}

uint64_t inspector_peer(uint64_t inode)
{
    (void)inode;
    return 0;
}
