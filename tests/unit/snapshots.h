/* Putting snapshots together in tests. */
#ifndef GORDIAN_TESTS_SNAPSHOTS_H
#define GORDIAN_TESTS_SNAPSHOTS_H

#include "test.h"

#include <gordian/gordian.h>

/* For calls the rest of a test cannot do without; each is made once. */
#define MUST(call)                                                                                 \
    do {                                                                                           \
        gordian_status must_status = (call);                                                       \
        REQUIRE(must_status == GORDIAN_OK);                                                        \
    } while (0)

static inline gordian_snapshot *start(uint32_t processes, uint32_t resources)
{
    gordian_snapshot *snapshot;
    MUST(gordian_snapshot_open(&snapshot, NULL, NULL));
    for (uint32_t i = 0; i < processes; i++) {
        uint32_t id;
        MUST(gordian_snapshot_add_process(snapshot, &id, NULL));
        REQUIRE(id == i);
    }
    for (uint32_t i = 0; i < resources; i++) {
        uint32_t id;
        MUST(gordian_snapshot_add_resource(snapshot, 1, &id, NULL));
        REQUIRE(id == i);
    }
    return snapshot;
}

static inline void hold(gordian_snapshot *snapshot, uint32_t process, uint32_t resource,
                        uint64_t units)
{
    gordian_error error;
    gordian_status status = gordian_snapshot_hold(snapshot, process, resource, units, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
}

static inline void await(gordian_snapshot *snapshot, uint32_t process, uint32_t resource,
                         uint64_t units)
{
    gordian_error error;
    gordian_status status = gordian_snapshot_wait(snapshot, process, resource, units, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
}

static inline gordian_report judge(gordian_snapshot *snapshot)
{
    gordian_report report;
    MUST(gordian_snapshot_check(snapshot, &report, NULL));
    return report;
}

#endif
