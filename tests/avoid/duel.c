#include "duel.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEW 7 /* so many processes are still tried in all their orders */

static bool disagree(struct duel *duel, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool disagree(struct duel *duel, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(duel->message, sizeof duel->message, format, list);
    va_end(list);
    return false;
}

bool duel_open(struct duel *duel, const struct duel_options *options)
{
    *duel = (struct duel){.options = *options};
    naive_open(&duel->naive, options->processes, options->resources, options->queue,
               options->patience);
    expected_open(&duel->expected, &duel->naive);
    gordian_answer_init(&duel->answer, GORDIAN_DETAIL_REASONS);
    random_seed(&duel->random, options->seed);
    generator_open(&duel->asker, options->seed ^ 77, &duel->naive);
    for (size_t e = 0; e < options->engine_count; e++) {
        gordian_bank_options bank_options;
        gordian_error error;
        gordian_bank_options_init(&bank_options);
        bank_options.engine = options->engines[e]->about.name;
        bank_options.queue = options->queue;
        bank_options.patience = options->patience;
        if (gordian_bank_open(&duel->banks[e], &bank_options, &error) != GORDIAN_OK)
            return disagree(duel, "%s: %s", bank_options.engine, error.message);
        if (random_chance(&duel->random, 30))
            gordian_bank_reserve(duel->banks[e], options->processes, options->resources, NULL);
    }
    return true;
}

void duel_close(struct duel *duel)
{
    for (size_t e = 0; e < duel->options.engine_count; e++)
        gordian_bank_close(duel->banks[e]);
    gordian_answer_free(&duel->answer);
    generator_close(&duel->asker);
    expected_close(&duel->expected);
    naive_close(&duel->naive);
}

/* ------------------------------------------------------------------ one call */

static gordian_status call(gordian_bank *bank, const struct step *step, uint32_t *id,
                           gordian_answer *answer)
{
    uint32_t p = step->process;
    switch (step->kind) {
    case STEP_REQUEST:
        return gordian_bank_request(bank, p, step->wants, step->count, answer, NULL);
    case STEP_TRY:
        return gordian_bank_try(bank, p, step->wants, step->count, answer, NULL);
    case STEP_ACQUIRE:
        return gordian_bank_acquire(bank, p, step->wants, step->count, 0, answer, NULL);
    case STEP_COMMIT:
        return gordian_bank_commit(bank, p, answer, NULL);
    case STEP_CANCEL:
        return gordian_bank_cancel(bank, p, answer, NULL);
    case STEP_RELEASE:
        return gordian_bank_release(bank, p, step->wants, step->count, answer, NULL);
    case STEP_EXIT:
        return gordian_bank_exit(bank, p, answer, NULL);
    case STEP_JOIN:
        return gordian_bank_add_process(bank, NULL, step->wants, step->count, id, answer, NULL);
    case STEP_CLAIMS:
        return gordian_bank_set_claims(bank, p, step->wants, step->count, answer, NULL);
    case STEP_ADD_RESOURCE:
        return gordian_bank_add_resource(bank, NULL, step->units, id, NULL);
    case STEP_REMOVE_RESOURCE:
        return gordian_bank_remove_resource(bank, step->resource, NULL);
    case STEP_UNITS:
        return gordian_bank_set_units(bank, step->resource, step->units, answer, NULL);
    case STEP_KINDS:
        break;
    }
    abort();
}

static bool same_ids(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count)
{
    return a_count == b_count && (a_count == 0 || memcmp(a, b, a_count * sizeof *a) == 0);
}

static bool same_lacks(const gordian_answer *answer, const struct expected *expected)
{
    if (answer->lack_count != expected->lack_count)
        return false;
    for (size_t k = 0; k < answer->lack_count; k++)
        if (answer->lacks[k].process != expected->lacks[k].process ||
            answer->lacks[k].resource != expected->lacks[k].resource ||
            answer->lacks[k].units != expected->lacks[k].units)
            return false;
    return true;
}

static bool same_answer(struct duel *duel, const char *engine)
{
    const gordian_answer *answer = &duel->answer;
    const struct expected *expected = &duel->expected;
    if (answer->verdict != expected->verdict || answer->reason != expected->reason)
        return disagree(duel, "%s says %s (%s), it must be %s (%s)", engine,
                        gordian_verdict_text(answer->verdict), gordian_reason_text(answer->reason),
                        gordian_verdict_text(expected->verdict),
                        gordian_reason_text(expected->reason));
    if (answer->verdict == GORDIAN_VERDICT_REFUSED && answer->at != expected->at)
        return disagree(duel, "%s blames want %" PRIu32 ", it must be %" PRIu32, engine, answer->at,
                        expected->at);
    if (answer->waits != expected->waits || answer->incomplete)
        return disagree(duel, "%s: waits %d, incomplete %d", engine, answer->waits,
                        answer->incomplete);
    if (!same_ids(answer->served, answer->served_count, expected->served, expected->served_count))
        return disagree(duel, "%s has served %zu others, it must be %zu, or other ones", engine,
                        answer->served_count, expected->served_count);
    if (answer->detail == GORDIAN_DETAIL_VERDICT)
        return answer->sequence_count == 0 && answer->stuck_count == 0 && answer->lack_count == 0
                   ? true
                   : disagree(duel, "%s gives reasons not asked for", engine);
    if (!same_ids(answer->stuck, answer->stuck_count, expected->stuck, expected->stuck_count))
        return disagree(duel, "%s: %zu are stuck, it must be %zu, or other ones", engine,
                        answer->stuck_count, expected->stuck_count);
    if (!same_lacks(answer, expected))
        return disagree(duel, "%s: %zu lacks, they must be %zu, or other ones", engine,
                        answer->lack_count, expected->lack_count);
    if (answer->verdict != GORDIAN_VERDICT_GRANTED)
        return true;
    duel->sequences++;
    return naive_is_sequence(&duel->naive, answer->sequence, answer->sequence_count)
               ? true
               : disagree(duel, "%s: a sequence that does not work", engine);
}

/* Makes the change that was found unsafe, tries every order there is, and takes it back. */
static bool none_of_all_orders(struct duel *duel, const struct step *step)
{
    struct naive *naive = &duel->naive;
    size_t row = (size_t)step->process * naive->resources;
    uint64_t *cells = step->kind == STEP_CLAIMS ? naive->claim + row : naive->held + row;
    uint64_t *old = malloc(naive->resources * sizeof *old);
    if (!old)
        abort();
    memcpy(old, step->kind == STEP_UNITS ? naive->total : cells, naive->resources * sizeof *old);
    if (step->kind == STEP_UNITS)
        naive->total[step->resource] = step->units;
    else if (step->kind == STEP_CLAIMS)
        memset(cells, 0, naive->resources * sizeof *cells);
    for (size_t k = 0; step->kind != STEP_UNITS && k < step->count; k++)
        cells[step->wants[k].resource] += step->wants[k].units;
    bool found = naive_tries_all(naive);
    memcpy(step->kind == STEP_UNITS ? naive->total : cells, old, naive->resources * sizeof *old);
    free(old);
    duel->tried_all++;
    return found ? disagree(duel, "called unsafe, but there is an order") : true;
}

static uint32_t population(const struct naive *naive)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < naive->processes; i++)
        count += naive->is_process[i];
    return count;
}

static void tally(struct duel *duel, const struct step *step)
{
    const struct expected *expected = &duel->expected;
    bool asks = step->kind <= STEP_ACQUIRE;
    duel->requests += asks;
    duel->lent += asks && expected->verdict == GORDIAN_VERDICT_GRANTED;
    duel->unsafe += expected->verdict == GORDIAN_VERDICT_UNSAFE;
    duel->shortages += expected->verdict == GORDIAN_VERDICT_UNAVAILABLE;
    duel->out_of_turn += expected->reason == GORDIAN_REASON_OUT_OF_TURN;
    duel->declined += expected->verdict == GORDIAN_VERDICT_REFUSED;
    duel->served += expected->served_count;
}

bool duel_take(struct duel *duel, const struct step *step)
{
    bool quiet = random_chance(&duel->random, 20);
    bool no_answer = step->kind == STEP_ADD_RESOURCE || step->kind == STEP_REMOVE_RESOURCE;
    for (size_t e = 0; e < duel->options.engine_count; e++) {
        const char *engine = duel->options.engines[e]->about.name;
        uint32_t id = GORDIAN_NONE;
        duel->answer.detail = quiet ? GORDIAN_DETAIL_VERDICT : GORDIAN_DETAIL_REASONS;
        gordian_status status = call(duel->banks[e], step, &id, &duel->answer);
        if (e == 0)
            naive_take(&duel->naive, step, id, &duel->expected);
        if (status != duel->expected.status)
            return disagree(duel, "%s: %s", engine, gordian_status_text(status));
        if (status == GORDIAN_OK && !no_answer && !same_answer(duel, engine))
            return false;
    }
    if (duel->expected.status != GORDIAN_OK || no_answer)
        return true;
    tally(duel, step);
    if (duel->expected.verdict == GORDIAN_VERDICT_UNSAFE && population(&duel->naive) <= FEW)
        return none_of_all_orders(duel, step);
    return true;
}

/* ------------------------------------------------------------------ everything else */

static bool same_numbers(struct duel *duel, gordian_bank *bank, const char *engine)
{
    const struct naive *naive = &duel->naive;
    for (uint32_t j = 0; j < naive->resources; j++) {
        uint64_t free = naive->is_resource[j] ? naive_free(naive, j) : 0;
        if (gordian_bank_units(bank, j) != naive->total[j] ||
            gordian_bank_free_units(bank, j) != free)
            return disagree(duel, "%s: resource %" PRIu32 " has other units", engine, j);
    }
    for (uint32_t i = 0; i < naive->processes; i++) {
        if (gordian_bank_is_waiting(bank, i) != naive->waits[i])
            return disagree(duel, "%s: process %" PRIu32 " waits or not", engine, i);
        for (uint32_t j = 0; j < naive->resources; j++) {
            size_t cell = (size_t)i * naive->resources + j;
            if (gordian_bank_claim(bank, i, j) != naive->claim[cell] ||
                gordian_bank_held(bank, i, j) != naive->held[cell])
                return disagree(duel, "%s: process %" PRIu32 ", resource %" PRIu32 ": other units",
                                engine, i, j);
        }
    }
    return true;
}

/* Edges of one process or resource as they should be: into `edges`, counted. */
static size_t expected_edges(const struct naive *naive, bool of_process, bool waits, uint32_t id,
                             gordian_edge *edges)
{
    size_t count = 0;
    uint32_t others = of_process ? naive->resources : waits ? naive->queue_count : naive->processes;
    for (uint32_t k = 0; k < others; k++) {
        uint32_t process = of_process ? id : waits ? naive->queue[k] : k;
        uint32_t resource = of_process ? k : id;
        size_t cell = (size_t)process * naive->resources + resource;
        uint64_t units = waits ? naive->pending[cell] : naive->held[cell];
        if (units > 0 && (!waits || naive->waits[process]))
            edges[count++] = (gordian_edge){units, process, resource, waits};
    }
    return count;
}

static int by_process(const void *left, const void *right)
{
    const gordian_edge *a = left, *b = right;
    return (a->process > b->process) - (a->process < b->process);
}

typedef size_t (*edges_call)(gordian_bank *bank, uint32_t id, gordian_edge *edges, size_t room);

static bool same_edges_of(struct duel *duel, gordian_bank *bank, edges_call list, bool of_process,
                          bool waits, uint32_t id)
{
    const struct naive *naive = &duel->naive;
    size_t most = (naive->processes > naive->resources ? naive->processes : naive->resources) + 1u;
    gordian_edge *expected = calloc(most, sizeof *expected), *edges = calloc(most, sizeof *edges);
    if (!expected || !edges)
        abort();
    size_t count = expected_edges(naive, of_process, waits, id, expected), room = count / 2;
    bool good = list(bank, id, NULL, 0) == count && list(bank, id, edges, room) == count &&
                edges[room].units == 0 && list(bank, id, edges, most) == count;
    if (!of_process && !waits)
        qsort(edges, count, sizeof *edges, by_process);
    for (size_t i = 0; i < count && good; i++)
        good = edges[i].units == expected[i].units && edges[i].process == expected[i].process &&
               edges[i].resource == expected[i].resource && edges[i].waits == waits;
    free(expected);
    free(edges);
    return good;
}

static bool same_edges(struct duel *duel, gordian_bank *bank, const char *engine)
{
    const struct naive *naive = &duel->naive;
    for (uint32_t i = 0; i < naive->processes; i++)
        if (!same_edges_of(duel, bank, gordian_bank_holdings, true, false, i) ||
            !same_edges_of(duel, bank, gordian_bank_pending, true, true, i))
            return disagree(duel, "%s: other edges of process %" PRIu32, engine, i);
    for (uint32_t j = 0; j < naive->resources; j++)
        if (!same_edges_of(duel, bank, gordian_bank_holders, false, false, j) ||
            !same_edges_of(duel, bank, gordian_bank_waiters, false, true, j))
            return disagree(duel, "%s: other edges of resource %" PRIu32, engine, j);
    return true;
}

static bool same_sequence(struct duel *duel, gordian_bank *bank, const char *engine)
{
    uint32_t count = population(&duel->naive);
    uint32_t *whole = calloc(count + 1u, sizeof *whole), *part = calloc(count + 1u, sizeof *part);
    if (!whole || !part)
        abort();
    size_t room = count > 1 ? count / 2 : 0;
    bool good = gordian_bank_sequence(bank, whole, count) == count &&
                naive_is_sequence(&duel->naive, whole, count) &&
                gordian_bank_sequence(bank, part, room) == count &&
                memcmp(whole, part, room * sizeof *part) == 0 && part[room] == 0;
    free(whole);
    free(part);
    duel->sequences++;
    return good ? true : disagree(duel, "%s: a sequence that does not work", engine);
}

#define ASKED 5

/* What-ifs, all together; the answers must be the same from every engine, and the naive one's. */
static bool same_what_ifs(struct duel *duel)
{
    gordian_bank_request_item items[ASKED];
    gordian_verdict expected[ASKED], verdicts[ASKED];
    gordian_want wants[ASKED][8];
    for (int k = 0; k < ASKED; k++) {
        struct step step;
        generator_request(&duel->asker, &duel->naive, &step);
        step.count = step.count > 8 ? 8 : step.count;
        for (size_t i = 0; i < step.count; i++)
            wants[k][i] = step.wants[i];
        items[k] = (gordian_bank_request_item){step.process, wants[k], step.count};
        expected[k] = naive_what_if(&duel->naive, step.process, wants[k], step.count);
    }
    for (size_t e = 0; e < duel->options.engine_count; e++) {
        size_t count = random_chance(&duel->random, 20) ? 1 : ASKED;
        if (gordian_bank_what_if(duel->banks[e], items, count, verdicts, NULL) != GORDIAN_OK ||
            memcmp(verdicts, expected, count * sizeof *verdicts) != 0)
            return disagree(duel, "%s: other what-ifs", duel->options.engines[e]->about.name);
    }
    return true;
}

bool duel_compare(struct duel *duel)
{
    uint32_t resource = (uint32_t)random_below(&duel->random, duel->naive.resources);
    bool there = duel->naive.is_resource[resource];
    uint64_t slack = there ? naive_slack(&duel->naive, resource) : 0;
    if (!same_what_ifs(duel))
        return false;
    for (size_t e = 0; e < duel->options.engine_count; e++) {
        const char *engine = duel->options.engines[e]->about.name;
        uint64_t units = 0;
        if (!same_numbers(duel, duel->banks[e], engine) ||
            !same_edges(duel, duel->banks[e], engine) ||
            !same_sequence(duel, duel->banks[e], engine))
            return false;
        if ((gordian_bank_slack(duel->banks[e], resource, &units, NULL) == GORDIAN_OK) != there ||
            units != slack)
            return disagree(duel,
                            "%s: slack %" PRIu64 " of resource %" PRIu32 ", it must be %" PRIu64,
                            engine, units, resource, slack);
    }
    duel->slacks++;
    return true;
}
