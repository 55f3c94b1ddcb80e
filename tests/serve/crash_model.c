/* What the service must be doing: the same events, fed to the library. */
#include "crash_lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(gordian_status status)
{
    if (status != GORDIAN_OK) {
        fprintf(stderr, "the model failed: %s\n", gordian_status_text(status));
        exit(1);
    }
}

static bool is_bank(const struct lane *lane)
{
    return lane->model == LANE_BANK;
}

uint64_t model_units(const struct lane *lane, uint32_t resource)
{
    return lane->model == LANE_SINGLE ? 1 : 1 + resource % 4;
}

/* Not everybody claims everything; nobody more than there is. */
uint64_t model_claim(const struct lane *lane, uint32_t process, uint32_t resource)
{
    uint64_t units = model_units(lane, resource);
    return (process + resource) % 3 == 0 ? 0 : 1 + (process * 7 + resource) % units;
}

static void open_system(struct lane *lane, int which)
{
    char name[16];
    must(gordian_open(&lane->systems[which], NULL, NULL));
    for (uint32_t q = 0; q < LANE_RESOURCES; q++) {
        snprintf(name, sizeof name, "r%u", q);
        must(gordian_add_resource(lane->systems[which], name, model_units(lane, q), NULL, NULL));
    }
    for (uint32_t p = 0; p < LANE_PROCESSES; p++) {
        snprintf(name, sizeof name, "p%u", p);
        must(gordian_add_process(lane->systems[which], name, NULL, NULL));
    }
}

static void open_bank(struct lane *lane, int which)
{
    gordian_bank_options options;
    char name[16];
    gordian_bank_options_init(&options);
    options.queue = true;
    options.patience = 4;
    must(gordian_bank_open(&lane->banks[which], &options, NULL));
    for (uint32_t q = 0; q < LANE_RESOURCES; q++) {
        snprintf(name, sizeof name, "r%u", q);
        must(gordian_bank_add_resource(lane->banks[which], name, model_units(lane, q), NULL, NULL));
    }
    for (uint32_t p = 0; p < LANE_PROCESSES; p++) {
        gordian_want claims[LANE_RESOURCES];
        size_t count = 0;
        for (uint32_t q = 0; q < LANE_RESOURCES; q++)
            if (model_claim(lane, p, q) > 0)
                claims[count++] = (gordian_want){.units = model_claim(lane, p, q), .resource = q};
        snprintf(name, sizeof name, "p%u", p);
        must(gordian_bank_add_process(lane->banks[which], name, claims, count, NULL, NULL, NULL));
    }
}

void model_open(struct lane *lane)
{
    for (int which = AHEAD; which <= SETTLED; which++)
        if (is_bank(lane))
            open_bank(lane, which);
        else
            open_system(lane, which);
}

void model_close(struct lane *lane)
{
    for (int which = AHEAD; which <= SETTLED; which++) {
        gordian_close(lane->systems[which]);
        gordian_bank_close(lane->banks[which]);
    }
}

/* ---- feeding */

/* As the service does it: after a deadlock the youngest goes until there is none. Returns how many
 * were served by that. */
static uint32_t recover(gordian_system *system)
{
    gordian_victim victim;
    gordian_status status;
    uint32_t served = 0;
    while ((status = gordian_recover_one(system, GORDIAN_POLICY_YOUNGEST, &victim, NULL)) ==
           GORDIAN_OK)
        served += (uint32_t)victim.served_count;
    if (status != GORDIAN_STATUS_END)
        must(status);
    return served;
}

static void feed_system(const struct lane *lane, int which, struct lane_event *made)
{
    gordian_result result;
    must(gordian_feed(lane->systems[which], &made->event, &result, NULL));
    made->outcome = result.outcome;
    made->served = result.served_count;
    if (lane->model == LANE_RECOVER &&
        (result.outcome == GORDIAN_OUTCOME_DEADLOCK || result.outcome == GORDIAN_OUTCOME_DOOMED))
        made->served += recover(lane->systems[which]);
}

static void feed_bank(const struct lane *lane, int which, struct lane_event *made)
{
    const gordian_event *event = &made->event;
    gordian_bank *bank = lane->banks[which];
    gordian_want one = {.units = event->units, .resource = event->resource};
    const gordian_want *wants = event->wants ? event->wants : &one;
    size_t count = event->wants ? event->want_count : 1;
    gordian_answer answer;
    gordian_answer_init(&answer, GORDIAN_DETAIL_VERDICT);
    if (event->op == GORDIAN_OP_REQUEST)
        must(gordian_bank_request(bank, event->process, wants, count, &answer, NULL));
    else if (event->op == GORDIAN_OP_RELEASE)
        must(gordian_bank_release(bank, event->process, wants, count, &answer, NULL));
    else
        must(gordian_bank_cancel(bank, event->process, &answer, NULL));
    made->outcome = (uint8_t)answer.verdict;
    made->waits = answer.waits;
    made->served = (uint32_t)answer.served_count;
    gordian_answer_free(&answer);
}

static void feed(const struct lane *lane, int which, struct lane_event *made)
{
    if (is_bank(lane))
        feed_bank(lane, which, made);
    else
        feed_system(lane, which, made);
}

/* ---- making up */

static bool waits(const struct lane *lane, uint32_t process)
{
    return is_bank(lane) ? gordian_bank_is_waiting(lane->banks[AHEAD], process)
                         : gordian_is_waiting(lane->systems[AHEAD], process);
}

static uint64_t held(const struct lane *lane, uint32_t process, uint32_t resource)
{
    gordian_edge edges[LANE_RESOURCES];
    if (is_bank(lane))
        return gordian_bank_held(lane->banks[AHEAD], process, resource);
    size_t count = gordian_holdings(lane->systems[AHEAD], process, edges, LANE_RESOURCES);
    for (size_t i = 0; i < count; i++)
        if (edges[i].resource == resource)
            return edges[i].units;
    return 0;
}

static void make_request(struct lane *lane, struct lane_event *made)
{
    struct random *random = &lane->random;
    gordian_event *event = &made->event;
    event->op = GORDIAN_OP_REQUEST;
    event->resource = (uint32_t)random_below(random, LANE_RESOURCES);
    event->units = 1 + random_below(random, model_units(lane, event->resource));
    if (lane->model == LANE_SINGLE || random_chance(random, 60))
        return;
    event->wants = made->wants;
    event->want_count = 2 + (size_t)random_below(random, LANE_WANTS - 1);
    for (size_t i = 0; i < event->want_count; i++) {
        uint32_t resource = (uint32_t)random_below(random, LANE_RESOURCES);
        made->wants[i] = (gordian_want){.units = 1, .resource = resource};
    }
}

static void make_release(struct lane *lane, struct lane_event *made)
{
    struct random *random = &lane->random;
    gordian_event *event = &made->event;
    event->op = GORDIAN_OP_RELEASE;
    event->resource = (uint32_t)random_below(random, LANE_RESOURCES);
    event->units = 1; /* of something it does not hold, perhaps: refused */
    for (uint32_t i = 0; i < LANE_RESOURCES; i++) {
        uint32_t resource = (event->resource + i) % LANE_RESOURCES;
        uint64_t units = held(lane, event->process, resource);
        if (units > 0) {
            event->resource = resource;
            event->units = 1 + random_below(random, units);
            return;
        }
    }
}

void model_make(struct lane *lane)
{
    struct random *random = &lane->random;
    struct lane_event *made = &lane->events[++lane->made % LANE_EVENTS];
    uint32_t process = (uint32_t)random_below(random, LANE_PROCESSES);
    unsigned what = (unsigned)random_below(random, 100);
    *made = (struct lane_event){.event = {.process = process, .to = GORDIAN_NONE}};
    if (waits(lane, process) && what < 30)
        made->event.op = GORDIAN_OP_CANCEL;
    else if (what < 3 && !is_bank(lane))
        made->event.op = GORDIAN_OP_EXIT;
    else if (what < 45)
        make_release(lane, made);
    else
        make_request(lane, made);
    feed(lane, AHEAD, made);
    lane->deadlocks += !is_bank(lane) && made->outcome == GORDIAN_OUTCOME_DEADLOCK;
}

void model_settle(struct lane *lane, uint64_t number)
{
    while (lane->settled < number) {
        struct lane_event copy = lane->events[++lane->settled % LANE_EVENTS];
        if (copy.event.wants)
            copy.event.wants = copy.wants;
        feed(lane, SETTLED, &copy);
    }
}

/* ---- state */

void model_state(struct lane *lane, uint32_t process, uint64_t held_units[LANE_RESOURCES],
                 uint64_t wanted[LANE_RESOURCES], bool *is_waiting)
{
    gordian_edge edges[LANE_RESOURCES];
    memset(held_units, 0, LANE_RESOURCES * sizeof *held_units);
    memset(wanted, 0, LANE_RESOURCES * sizeof *wanted);
    if (is_bank(lane)) {
        for (uint32_t q = 0; q < LANE_RESOURCES; q++)
            held_units[q] = gordian_bank_held(lane->banks[SETTLED], process, q);
        *is_waiting = gordian_bank_is_waiting(lane->banks[SETTLED], process);
        return;
    }
    const gordian_system *system = lane->systems[SETTLED];
    size_t count = gordian_holdings(system, process, edges, LANE_RESOURCES);
    for (size_t i = 0; i < count; i++)
        held_units[edges[i].resource] = edges[i].units;
    count = gordian_pending(system, process, edges, LANE_RESOURCES);
    for (size_t i = 0; i < count; i++)
        wanted[edges[i].resource] = edges[i].units;
    *is_waiting = gordian_is_waiting(system, process);
}

const char *model_outcome_text(const struct lane *lane, uint8_t outcome)
{
    return is_bank(lane) ? gordian_verdict_text((gordian_verdict)outcome)
                         : gordian_outcome_text((gordian_outcome)outcome);
}
