/* Recognizes programs with their own runtime system (Java, Go), whose tools know more about their
 * locks. Reports only which tool to use. */
#define _GNU_SOURCE
#include "sources/inspect/decoders/decoder.h"

#include <string.h>

#define SEARCHED (256u << 10) /* bytes of the program's data */

/* Go's linker writes this mark at the start of a data section. */
static bool has_go_mark(struct process_snapshot *snapshot, struct target *target)
{
    static const char mark[] = "\xff Go buildinf:";
    bool found = false;
    char *data = memory_alloc(snapshot_memory(snapshot), SEARCHED);
    for (size_t i = 0; i < target->mapping_count && data && !found; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        if (mapping->executable || strcmp(mapping->path, target->program) != 0)
            continue;
        uint64_t size = mapping->high - mapping->low;
        size_t count = target_read(target, mapping->low, data,
                                   size < SEARCHED ? (size_t)size : (size_t)SEARCHED);
        found = count && memmem(data, count, mark, sizeof mark - 1);
    }
    memory_free(snapshot_memory(snapshot), data);
    return found;
}

/* Returns what is reported about threads of this process; NULL: nothing. */
static const char *runtime_of(struct process_snapshot *snapshot, struct target *target)
{
    if (target->core)
        return NULL;
    if (target_maps(target, "/libjvm.so")) {
        target->runtime = TARGET_JAVA;
        return snapshot_format(snapshot,
                               "belongs to a Java virtual machine, which has its own locks: "
                               "use 'jstack %u' to find its deadlocks",
                               target->seen_pid);
    }
    if (has_go_mark(snapshot, target)) {
        target->runtime = TARGET_GO;
        return snapshot_format(snapshot,
                               "belongs to a Go program, which has its own goroutines and locks: "
                               "'kill -QUIT %u' ends it with a dump of all goroutines",
                               target->seen_pid);
    }
    return NULL;
}

static void finish_runtimes(struct process_snapshot *snapshot)
{
    for (uint32_t process = 0; process < snapshot_target_count(snapshot); process++) {
        const char *text = runtime_of(snapshot, snapshot_target(snapshot, process));
        for (uint32_t i = SNAPSHOT_NONE; text && snapshot_next_thread(snapshot, process, &i);)
            snapshot_set_unknown(snapshot, i, text, false);
    }
}

const struct decoder decoder_runtimes = {.name = "runtimes", .finish = finish_runtimes};
