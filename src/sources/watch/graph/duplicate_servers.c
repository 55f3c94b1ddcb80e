/* Recognizes several addresses of one server by its identity. */
#include "sources/watch/graph/duplicate_servers.h"

#include <string.h>

static bool is_identified(const struct source *source)
{
    return !source->inspector && source_is_up(source) && *source->facts.identity;
}

const struct source *duplicates_watcher(struct source *const *sources, size_t count,
                                        const struct source *parked)
{
    const struct server_facts *one = &parked->facts;
    for (size_t i = 0; i < count; i++) {
        const struct server_facts *other = &sources[i]->facts;
        /* A role without permission for the system identifier still sees the same start time. */
        if (sources[i] != parked && !sources[i]->parked && is_identified(sources[i]) &&
            strcmp(one->identity, other->identity) == 0 &&
            (!*one->system || !*other->system || strcmp(one->system, other->system) == 0))
            return sources[i];
    }
    return NULL;
}

/* Parks new sources whose server is watched already. A source that has been scanned stays. */
void duplicates_park(struct source *const *sources, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct source *source = sources[i];
        bool is_new = is_identified(source) && !source->first && source->state == SOURCE_RESTING;
        if (source->parked || is_new)
            source->parked = duplicates_watcher(sources, count, source) != NULL;
    }
}

size_t duplicates_distinct(struct source *const *sources, size_t count)
{
    size_t distinct = count;
    for (size_t i = 0; i < count; i++)
        distinct -= sources[i]->parked;
    return distinct;
}
