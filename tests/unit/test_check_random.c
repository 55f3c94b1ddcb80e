/* Random snapshots against brute force: the dead by plain reduction, the parts by trying every set
 * of processes. Random graphs against plain reachability, for the components under it all. */
#include "foundation/base/random.h"
#include "foundation/base/scc.h"
#include "snapshots.h"

#include <string.h>

#define SIDE 8

/* A snapshot as plain matrices; sets of processes are masks. */
struct model {
    uint32_t processes, resources;
    uint64_t total[SIDE];
    uint64_t held[SIDE][SIDE], wanted[SIDE][SIDE]; /* [process][resource] */
};

static uint64_t held_by(const struct model *model, unsigned set, uint32_t resource)
{
    uint64_t sum = 0;
    for (uint32_t p = 0; p < model->processes; p++)
        if (set >> p & 1)
            sum += model->held[p][resource];
    return sum;
}

/* Does `p` want more of `q` than there is without what `set` holds? */
static bool lacks(const struct model *model, unsigned set, uint32_t p, uint32_t q)
{
    return model->wanted[p][q] > model->total[q] - held_by(model, set, q);
}

static bool lacks_any(const struct model *model, unsigned set, uint32_t p)
{
    for (uint32_t q = 0; q < model->resources; q++)
        if (lacks(model, set, p, q))
            return true;
    return false;
}

static unsigned dead_by_reduction(const struct model *model)
{
    unsigned left = (1u << model->processes) - 1;
    for (bool again = true; again;) {
        again = false;
        for (uint32_t p = 0; p < model->processes; p++) {
            if (left >> p & 1 && !lacks_any(model, left, p)) {
                left &= ~(1u << p);
                again = true;
            }
        }
    }
    return left;
}

/* reach[p]: whom p leads to, within `set` and if everybody outside has finished. */
static void reach_within(const struct model *model, unsigned set, unsigned reach[SIDE])
{
    memset(reach, 0, SIDE * sizeof *reach);
    for (uint32_t q = 0; q < model->resources; q++) {
        unsigned holders = 0;
        for (uint32_t p = 0; p < model->processes; p++)
            holders |= (unsigned)(model->held[p][q] > 0) << p;
        for (uint32_t p = 0; p < model->processes; p++)
            if (set >> p & 1 && lacks(model, set, p, q))
                reach[p] |= holders & set;
    }
    for (uint32_t via = 0; via < model->processes; via++)
        for (uint32_t p = 0; p < model->processes; p++)
            if (reach[p] >> via & 1)
                reach[p] |= reach[via];
}

static bool is_tight(const struct model *model, unsigned set)
{
    unsigned reach[SIDE];
    reach_within(model, set, reach);
    for (uint32_t p = 0; p < model->processes; p++)
        if (set >> p & 1 && reach[p] != set)
            return false;
    return true;
}

/* All tight sets that no other contains, by smallest member. */
static size_t maximal_tight_sets(const struct model *model, unsigned dead, unsigned found[SIDE])
{
    static bool tight[1u << SIDE];
    size_t count = 0;
    for (unsigned set = dead; set; set = (set - 1) & dead)
        tight[set] = is_tight(model, set);
    for (unsigned set = dead; set; set = (set - 1) & dead) {
        bool maximal = tight[set];
        for (unsigned larger = dead; larger > set && maximal; larger = (larger - 1) & dead)
            maximal = !(tight[larger] && (larger & set) == set);
        if (maximal) {
            REQUIRE(count < SIDE);
            found[count++] = set;
        }
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            if (__builtin_ctz(found[k]) < __builtin_ctz(found[i])) {
                unsigned other = found[i];
                found[i] = found[k];
                found[k] = other;
            }
    return count;
}

/* A kind of snapshot: 0 single-unit, 1 multi-unit, 2 several one-unit resources, 3 general. */
static struct model random_model(struct random *random)
{
    struct model model = {0};
    unsigned kind = (unsigned)random_below(random, 4);
    unsigned busy = (unsigned)random_below(random, 101);
    model.processes = (uint32_t)random_below(random, SIDE + 1);
    model.resources = (uint32_t)random_below(random, SIDE + 1);
    for (uint32_t q = 0; q < model.resources; q++) {
        model.total[q] = kind == 1 || kind == 3 ? 1 + random_below(random, 4) : 1;
        for (uint64_t unit = 0; unit < model.total[q] && model.processes; unit++)
            if (random_chance(random, 85))
                model.held[random_below(random, model.processes)][q]++;
    }
    for (uint32_t p = 0; p < model.processes && model.resources; p++) {
        if (!random_chance(random, 50 + busy / 2))
            continue;
        uint64_t wishes = kind < 2 ? 1 : 1 + random_below(random, 3);
        for (uint64_t i = 0; i < wishes; i++) {
            uint32_t q = (uint32_t)random_below(random, model.resources);
            model.wanted[p][q] = kind < 3 ? 1 : 1 + random_below(random, model.total[q]);
        }
    }
    return model;
}

/* Enters a row of units in one or two goes. */
static void enter(gordian_snapshot *snapshot, struct random *random, uint32_t p, uint32_t q,
                  uint64_t units, bool waits)
{
    void (*put)(gordian_snapshot *, uint32_t, uint32_t, uint64_t) = waits ? await : hold;
    uint64_t now = random_chance(random, 80) ? units : random_below(random, units + 1);
    if (now)
        put(snapshot, p, q, now);
    if (units - now)
        put(snapshot, p, q, units - now);
}

static gordian_snapshot *build(const struct model *model, struct random *random)
{
    gordian_snapshot *snapshot = start(model->processes, 0);
    uint32_t cells[2 * SIDE * SIDE], count = 0;
    for (uint32_t q = 0; q < model->resources; q++)
        MUST(gordian_snapshot_add_resource(snapshot, model->total[q], NULL, NULL));
    for (uint32_t cell = 0; cell < 2 * SIDE * SIDE; cell++) {
        uint64_t at = random_below(random, ++count);
        cells[count - 1] = cells[at];
        cells[at] = cell;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t p = cells[i] / 2 % SIDE, q = cells[i] / 2 / SIDE;
        bool waits = cells[i] & 1;
        uint64_t units = waits ? model->wanted[p][q] : model->held[p][q];
        if (units)
            enter(snapshot, random, p, q, units, waits);
        if (random_chance(random, 1))
            judge(snapshot); /* what is known halfway must be forgotten */
    }
    return snapshot;
}

static gordian_model expected_model(const struct model *model)
{
    bool several = false;
    for (uint32_t q = 0; q < model->resources; q++)
        several |= model->total[q] > 1;
    for (uint32_t p = 0; p < model->processes; p++) {
        uint64_t units = 0;
        for (uint32_t q = 0; q < model->resources; q++)
            units += model->wanted[p][q];
        if (units > 1)
            return GORDIAN_MODEL_GENERAL;
    }
    return several ? GORDIAN_MODEL_MULTI_UNIT : GORDIAN_MODEL_SINGLE_UNIT;
}

static void check_cycle(const struct model *model, const gordian_part *part)
{
    CHECK(part->resource_count == part->process_count);
    for (size_t i = 0; i < part->process_count; i++) {
        uint32_t next = part->processes[(i + 1) % part->process_count];
        CHECK(part->processes[i] >= part->processes[0]);
        CHECK(model->wanted[part->processes[i]][part->resources[i]] == 1);
        CHECK(model->held[next][part->resources[i]] == 1);
    }
}

static unsigned mask_of(const uint32_t *list, size_t count)
{
    unsigned mask = 0;
    for (size_t i = 0; i < count; i++)
        mask |= 1u << list[i];
    return mask;
}

/* The edges are the members' waits for and holdings of the part's resources, each once. */
static void check_edges(gordian_snapshot *snapshot, const struct model *model,
                        const gordian_part *part)
{
    const gordian_edge *edges;
    size_t count, expected = 0;
    MUST(gordian_snapshot_edges(snapshot, part, &edges, &count, NULL));
    unsigned seen_waits[SIDE] = {0}, seen_holds[SIDE] = {0};
    unsigned members = mask_of(part->processes, part->process_count);
    unsigned resources = mask_of(part->resources, part->resource_count);
    for (uint32_t p = 0; p < model->processes; p++)
        for (uint32_t q = 0; q < model->resources; q++)
            if (members >> p & 1 && resources >> q & 1)
                expected += (size_t)(model->wanted[p][q] > 0) + (model->held[p][q] > 0);
    CHECK_MSG(count == expected, "%zu edges, expected %zu", count, expected);
    for (size_t i = 0; i < count; i++) {
        const gordian_edge *edge = &edges[i];
        unsigned *seen = edge->waits ? &seen_waits[edge->process] : &seen_holds[edge->process];
        const uint64_t *row =
            edge->waits ? model->wanted[edge->process] : model->held[edge->process];
        CHECK(members >> edge->process & 1 && resources >> edge->resource & 1);
        CHECK(edge->units == row[edge->resource]);
        CHECK(!(*seen >> edge->resource & 1));
        *seen |= 1u << edge->resource;
    }
}

static void check_part(gordian_snapshot *snapshot, const struct model *model,
                       const gordian_part *part, unsigned expected, bool cycle)
{
    CHECK(part->cycle == cycle);
    CHECK(mask_of(part->processes, part->process_count) == expected);
    CHECK(part->process_count == (size_t)__builtin_popcount(expected));
    if (cycle) {
        check_cycle(model, part);
    } else {
        unsigned resources = 0;
        for (uint32_t q = 0; q < model->resources; q++)
            for (uint32_t p = 0; p < model->processes; p++)
                if (expected >> p & 1 && lacks(model, expected, p, q))
                    resources |= 1u << q;
        CHECK(mask_of(part->resources, part->resource_count) == resources);
        CHECK(part->resource_count == (size_t)__builtin_popcount(resources));
        for (size_t i = 1; i < part->process_count; i++)
            CHECK(part->processes[i - 1] < part->processes[i]);
        for (size_t i = 1; i < part->resource_count; i++)
            CHECK(part->resources[i - 1] < part->resources[i]);
    }
    check_edges(snapshot, model, part);
}

static void check_against(gordian_snapshot *snapshot, const struct model *model)
{
    gordian_report report = judge(snapshot);
    CHECK(report.model == expected_model(model));
    unsigned dead = dead_by_reduction(model), parts[SIDE], reach[SIDE];
    CHECK(mask_of(report.deadlocked, report.deadlocked_count) == dead);
    CHECK(report.deadlocked_count == (size_t)__builtin_popcount(dead));
    for (size_t i = 1; i < report.deadlocked_count; i++)
        CHECK(report.deadlocked[i - 1] < report.deadlocked[i]);

    size_t count = maximal_tight_sets(model, dead, parts);
    CHECK_MSG(report.part_count == count, "%zu parts, expected %zu", report.part_count, count);
    unsigned in_parts = 0;
    for (size_t i = 0; i < count && i < report.part_count; i++) {
        check_part(snapshot, model, &report.parts[i], parts[i],
                   report.model == GORDIAN_MODEL_SINGLE_UNIT);
        CHECK(!(in_parts & parts[i]));
        in_parts |= parts[i];
    }
    reach_within(model, dead, reach);
    for (uint32_t p = 0; p < model->processes; p++)
        CHECK(!(dead >> p & 1) || (reach[p] | 1u << p) & in_parts);
}

static void test_random(unsigned scale)
{
    for (uint64_t seed = 1; seed <= 1200 * (uint64_t)scale; seed++) {
        struct random random;
        random_seed(&random, seed);
        struct model model = random_model(&random);
        gordian_snapshot *snapshot = build(&model, &random);
        unsigned long failed = test_failed;
        check_against(snapshot, &model);
        gordian_snapshot_close(snapshot);
        if (test_failed != failed) {
            fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
            return;
        }
    }
}

/* ------------------------------------------------------------------ components */

#define NODES 12

struct graph {
    uint32_t nodes, targets[NODES * NODES];
    struct scc_node list[NODES];
    bool reach[NODES][NODES]; /* in any number of steps, none included */
};

static void random_graph(struct random *random, struct graph *graph)
{
    graph->nodes = 1 + (uint32_t)random_below(random, NODES);
    unsigned density = (unsigned)random_below(random, 30);
    memset(graph->reach, 0, sizeof graph->reach);
    uint32_t used = 0;
    for (uint32_t v = 0; v < graph->nodes; v++) {
        graph->list[v] = (struct scc_node){.first = used};
        graph->reach[v][v] = true;
        for (uint32_t w = 0; w < graph->nodes; w++) {
            if (!random_chance(random, density))
                continue;
            graph->targets[used++] = w;
            graph->reach[v][w] = true;
        }
        graph->list[v].end = used;
    }
    for (uint32_t via = 0; via < graph->nodes; via++)
        for (uint32_t v = 0; v < graph->nodes; v++)
            for (uint32_t w = 0; w < graph->nodes; w++)
                graph->reach[v][w] |= graph->reach[v][via] && graph->reach[via][w];
}

static void check_components(const struct graph *graph, const struct scc *scc, bool *wanted)
{
    uint32_t reached = 0;
    for (uint32_t v = 0; v < graph->nodes; v++) {
        uint32_t component = scc_component(scc, v);
        CHECK((component != GORDIAN_NONE) == wanted[v]);
        reached += wanted[v];
        if (!wanted[v] || component == GORDIAN_NONE)
            continue;
        bool listed = false;
        for (uint32_t i = scc->starts[component]; i < scc->starts[component + 1]; i++)
            listed |= scc->members[i] == v;
        CHECK(listed);
        for (uint32_t w = 0; w < graph->nodes; w++) {
            if (!graph->reach[v][w])
                continue;
            CHECK((scc_component(scc, w) == component) == graph->reach[w][v]);
            CHECK(scc_component(scc, w) <= component);
        }
    }
    CHECK(scc->member_count == reached && scc->starts[scc->count] == reached);
}

static void test_components(unsigned scale)
{
    gordian_allocator memory = memory_allocator(NULL);
    for (uint64_t seed = 1; seed <= 100 * (uint64_t)scale; seed++) {
        struct random random;
        struct graph graph;
        random_seed(&random, seed);
        random_graph(&random, &graph);
        struct scc scc;
        bool opened = scc_open(&scc, &memory, graph.list, graph.targets);
        REQUIRE(opened);
        /* Several runs on one graph, from anywhere and from everywhere. */
        for (unsigned i = 0; i < 3; i++) {
            uint32_t roots[2] = {(uint32_t)random_below(&random, graph.nodes),
                                 (uint32_t)random_below(&random, graph.nodes)};
            bool all = random_chance(&random, 50), wanted[NODES];
            bool run = scc_run(&scc, all ? NULL : roots, all ? graph.nodes : 2);
            REQUIRE(run);
            for (uint32_t v = 0; v < graph.nodes; v++)
                wanted[v] = all || graph.reach[roots[0]][v] || graph.reach[roots[1]][v];
            check_components(&graph, &scc, wanted);
        }
        scc_close(&scc);
    }
}

int main(void)
{
    test_random(test_scale());
    test_components(test_scale());
    return test_done();
}
