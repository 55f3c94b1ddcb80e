/* Programs whose locks are made by a run-time system of their own, which tells them better than
 * anybody from outside: Java's and Go's. They are told as what they are. */
#define _GNU_SOURCE
#include "sources/inspect/decoders/decoder.h"

#include <string.h>

#define SEARCHED (256u << 10) /* of the program's data */

static bool has_library(const struct target *target, const char *name)
{
    for (size_t i = 0; i < target->mapping_count; i++) {
        const char *path = target->mappings[i].path, *found = strstr(path, name);
        if (found && found > path && found[-1] == '/')
            return true;
    }
    return false;
}

/* Go's linker leaves a mark at the start of a section of the data. */
static bool has_go_mark(struct sight *sight, struct target *target)
{
    static const char mark[] = "\xff Go buildinf:";
    bool found = false;
    char *data = memory_alloc(&sight->memory, SEARCHED);
    for (size_t i = 0; i < target->mapping_count && data && !found; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        if (mapping->executable || strcmp(mapping->path, target->program) != 0)
            continue;
        uint64_t size = mapping->high - mapping->low;
        size_t count = target_read(target, mapping->low, data,
                                   size < SEARCHED ? (size_t)size : (size_t)SEARCHED);
        found = count && memmem(data, count, mark, sizeof mark - 1);
    }
    memory_free(&sight->memory, data);
    return found;
}

/* What to say of threads of this process; NULL: nothing. */
static const char *runtime_of(struct sight *sight, struct target *target)
{
    if (target->core)
        return NULL;
    if (has_library(target, "libjvm.so")) {
        target->runtime = TARGET_JAVA;
        return sight_format(sight,
                            "belongs to a Java virtual machine, whose locks are its own: "
                            "'jstack %u' names their deadlocks",
                            target->seen_pid);
    }
    if (has_go_mark(sight, target)) {
        target->runtime = TARGET_GO;
        return sight_format(sight,
                            "belongs to a Go program, whose goroutines and locks are its own: "
                            "'kill -QUIT %u' ends it with a dump of all goroutines",
                            target->seen_pid);
    }
    return NULL;
}

static void finish_runtimes(struct sight *sight)
{
    for (uint32_t process = 0; process < sight->target_count; process++) {
        const char *text = runtime_of(sight, sight->targets[process]);
        for (uint32_t i = sight->first_thread[process];
             text && i < sight->first_thread[process + 1]; i++)
            sight->threads[i].unknown = text;
    }
}

const struct decoder decoder_runtimes = {.name = "runtimes", .finish = finish_runtimes};
