/* Converts the witness of an engine to a finding. */
#include "output/finding/from_witness.h"

#include <stdlib.h>
#include <string.h>

static int compare_keys(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Numbers the processes or resources of the edges in order of appearance: numbers[i] belongs to
 * edge i. */
static bool number_names(struct finding *finding, const struct labels *labels,
                         const gordian_witness *witness, bool processes, uint32_t *numbers)
{
    uint64_t *keys = memory_alloc(&finding->memory, (witness->count + 1) * sizeof *keys);
    if (!keys)
        return false;
    for (size_t i = 0; i < witness->count; i++) {
        const gordian_edge *edge = &witness->edges[i];
        keys[i] = (uint64_t)(processes ? edge->process : edge->resource) << 32 | (uint32_t)i;
    }
    if (witness->count > 1)
        qsort(keys, witness->count, sizeof *keys, compare_keys);
    for (size_t i = 0, first = 0; i < witness->count; i++) {
        first = keys[i] >> 32 == keys[first] >> 32 ? first : i;
        numbers[(uint32_t)keys[i]] = (uint32_t)keys[first];
    }
    memory_free(&finding->memory, keys);
    for (size_t i = 0; i < witness->count; i++) {
        const gordian_edge *edge = &witness->edges[i];
        if (numbers[i] != i)
            numbers[i] = numbers[numbers[i]];
        else if (processes)
            numbers[i] = finding_party(finding, process_label(labels, edge->process), "process");
        else
            numbers[i] =
                finding_resource(finding, resource_label(labels, edge->resource), "resource");
    }
    return true;
}

/* An await waits for actions of its holders and has no name. */
static void name_acts(struct finding *finding, const struct labels *labels,
                      const gordian_witness *witness, const uint32_t *parties,
                      const uint32_t *resources)
{
    uint32_t *awaits = finding_alloc(finding, (finding->party_count + 1) * sizeof *awaits);
    for (size_t i = 0; i < witness->count && labels->holding && awaits; i++) {
        const gordian_edge *edge = &witness->edges[i];
        struct finding_resource *resource = &finding->resources[resources[i]];
        resource->holding = labels->holding(labels->context, edge->resource);
        if (strcmp(resource->holding, "of") != 0)
            continue;
        resource->kind = "act";
        if (!edge->waits)
            continue;
        const char *name = process_label(labels, edge->process);
        uint32_t number = ++awaits[parties[i]];
        resource->name = number > 1 ? finding_format(finding, "an act for %s (%u)", name, number)
                                    : finding_format(finding, "an act for %s", name);
    }
}

static void add_edges(struct finding *finding, const gordian_witness *witness,
                      const uint32_t *parties, const uint32_t *resources)
{
    for (size_t i = 0; i < witness->count; i++) {
        const gordian_edge *edge = &witness->edges[i];
        struct finding_edge *to =
            finding_edge(finding, edge->waits ? parties[i] : FINDING_NONE, resources[i],
                         witness->cycle ? parties[i + 1]
                         : edge->waits  ? FINDING_NONE
                                        : parties[i]);
        *(edge->waits ? &to->units : &to->held_units) = edge->units;
        if (strcmp(finding->resources[resources[i]].kind, "act") == 0 && !edge->waits)
            to->relation = FINDING_COULD;
        if (witness->cycle)
            to->held_units = witness->edges[++i].units;
    }
}

static const char *title_of(struct finding *finding)
{
    size_t count = finding->party_count;
    if (count == 1)
        return "a process waits for itself";
    return finding_format(
        finding, finding->cycle ? "a cycle of %zu processes" : "%zu processes wait for each other",
        count);
}

bool finding_from_witness(struct finding *finding, const char *source, uint64_t number,
                          const struct labels *labels, const gordian_witness *witness)
{
    finding_open(finding, source, FINDING_DEADLOCK, FINDING_PROVED);
    uint32_t *numbers = memory_alloc(&finding->memory, (2 * witness->count + 1) * sizeof *numbers);
    bool done = numbers && number_names(finding, labels, witness, true, numbers) &&
                number_names(finding, labels, witness, false, numbers + witness->count) &&
                !finding->failed;
    if (done) {
        name_acts(finding, labels, witness, numbers, numbers + witness->count);
        finding->cycle = witness->cycle;
        add_edges(finding, witness, numbers, numbers + witness->count);
    }
    finding->number = number;
    finding->title = title_of(finding);
    memory_free(&finding->memory, numbers);
    return done && !finding->failed;
}
