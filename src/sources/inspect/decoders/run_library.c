/* Recognizes threads inside libgordian-run.so, the library of `gordian run`. Its futex words are
 * not locks of the program: a thread that sleeps on one works for the library and can act. So it is
 * never part of a finding. */
#include "sources/inspect/decoders/decoder.h"

#include <string.h>

/* The library's data follows its code: initialized data from its file, then zeroed data in unnamed
 * pages. */
static bool is_watchers(const struct target *target, uint64_t address)
{
    bool before = false;
    uint64_t end = 0;
    for (size_t i = 0; i < target->mapping_count; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        bool follows = before && mapping->low == end && !*mapping->path && mapping->writable;
        before = strstr(mapping->path, "/libgordian-run.so") ||
                 strstr(mapping->path, "/libgordian-mpi") || follows;
        end = mapping->high;
        if (before && address >= mapping->low && address < mapping->high)
            return true;
    }
    return false;
}

static bool explain_watcher(struct process_snapshot *snapshot, uint32_t thread)
{
    const struct snapshot_thread *waiter = snapshot_thread(snapshot, thread);
    if (!waiter->sleeps || waiter->call.kind != CALL_FUTEX ||
        !is_watchers(snapshot_target(snapshot, waiter->process), waiter->call.address))
        return false;
    snapshot_set_busy(
        snapshot, thread,
        "is inside the library of 'gordian run', and waits for no lock of the program");
    return true;
}

const struct decoder decoder_watcher = {.name = "watcher", .explain = explain_watcher};
