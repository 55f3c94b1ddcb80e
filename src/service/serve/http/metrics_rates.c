/* Samples of rates, oldest waits and deadlocked processes. */
#include "service/serve/http/metrics_rates.h"

#include "foundation/base/bits.h"
#include "foundation/base/clock.h"
#include "foundation/base/memory.h"

#include <string.h>

#define SECOND_MS 1000
#define CHEAP_NS  2000000 /* maximum time in the event loop for finding deadlocked processes */
#define SMALL     256     /* up to this many processes there is no time limit */

void rates_init(struct rates *rates, struct service *service)
{
    *rates = (struct rates){
        .memory = memory_allocator(NULL),
        .service = service,
        .next_at = service_steady(service) + SECOND_MS,
        .before = service->counters.latency,
    };
}

void rates_free(struct rates *rates)
{
    for (size_t i = 0; i < rates->system_room; i++) {
        if (rates->systems[i])
            memory_free_all(&rates->memory, rates->systems[i]->dead,
                            rates->systems[i]->minutes.list);
        memory_free(&rates->memory, rates->systems[i]);
    }
    memory_free(&rates->memory, rates->minutes.list);
    rates->minutes = (struct rates_minutes){0};
    memory_free(&rates->memory, rates->systems);
    rates->systems = NULL;
    rates->system_room = 0;
}

const struct rates_system *rates_of(const struct rates *rates, const struct served *served)
{
    if (served->slot >= rates->system_room)
        return NULL;
    const struct rates_system *system = rates->systems[served->slot];
    return system && system->served == served && system->opened == served->opened ? system : NULL;
}

uint64_t rates_oldest(const struct rates_system *system)
{
    return system->oldest != GORDIAN_NONE ? system->oldest_since : system->best_since;
}

uint32_t rates_deadlocked(const struct rates_system *system)
{
    return system->served->incident_count ? system->deadlocked : 0;
}

void rate_json(struct json *json, const struct rate *rate)
{
    json_key_u64(json, "at", rate->at);
    json_key_u64(json, "events", rate->events);
    json_key_u64(json, "deadlocks", rate->deadlocks);
    json_key_u64(json, "waiting", rate->waiting);
    json_key_number(json, "p50_us", (double)rate->p50_us);
    json_key_number(json, "p99_us", (double)rate->p99_us);
}

/* ------------------------------------------------------------------ one system */

static void forget_samples(struct rates_system *system, const struct served *served)
{
    *system = (struct rates_system){
        .dead = system->dead,
        .minutes.list = system->minutes.list,
        .dead_room = system->dead_room,
        .served = served,
        .opened = served->opened,
        .events = served->seq,
        .incidents = served->counters.incidents,
        .dead_seq = UINT64_MAX,
        .oldest = GORDIAN_NONE,
        .best = GORDIAN_NONE,
    };
}

/* Returns the record of a system, reset for a new one. NULL: no memory. */
static struct rates_system *record_of(struct rates *rates, const struct served *served)
{
    if (!memory_grow_zeroed(&rates->memory, &rates->systems, &rates->system_room,
                            (size_t)served->slot + 1, sizeof(struct rates_system *)))
        return NULL;
    struct rates_system **place = &rates->systems[served->slot];
    if (!*place) {
        *place = memory_zeroed(&rates->memory, sizeof **place);
        if (*place)
            forget_samples(*place, served);
    } else if ((*place)->served != served || (*place)->opened != served->opened) {
        forget_samples(*place, served);
    }
    return *place;
}

static bool waits_since(const struct served *served, uint32_t process, uint64_t since)
{
    return process < served->process_room && since != 0 &&
           served->processes[process].since == since;
}

static void find_oldest(struct rates_system *system, const struct served *served)
{
    bool anew = system->oldest != GORDIAN_NONE;
    if (anew && waits_since(served, system->oldest, system->oldest_since))
        return;
    system->oldest = GORDIAN_NONE;
    uint32_t limit = served->process_room;
    if (anew || served->waiting == 0 || system->scan > limit)
        system->scan = 0;
    if (anew || served->waiting == 0 || !waits_since(served, system->best, system->best_since)) {
        system->best = GORDIAN_NONE;
        system->best_since = 0;
    }
    if (served->waiting == 0)
        return;
    uint32_t end = limit - system->scan > RATES_SCAN ? system->scan + RATES_SCAN : limit;
    for (uint32_t i = system->scan; i < end; i++) {
        uint64_t since = served->processes[i].since;
        if (since && (!system->best_since || since < system->best_since)) {
            system->best = i;
            system->best_since = since;
        }
    }
    system->scan = end;
    if (end == limit) {
        system->oldest = system->best;
        system->oldest_since = system->best_since;
        system->scan = 0;
    }
}

/* Grows the set to all processes; new ones are not in it. */
static bool make_set(struct rates *rates, struct rates_system *system, const struct served *served)
{
    size_t words = bits_words(served_process_limit(served)) + 1;
    if (!memory_grow(&rates->memory, &system->dead, &system->dead_room, words,
                     sizeof *system->dead))
        return false;
    if (words > system->dead_words)
        memset(system->dead + system->dead_words, 0,
               (words - system->dead_words) * sizeof *system->dead);
    system->dead_words = words;
    return true;
}

/* Changes with every event that may change the set of deadlocked processes. */
static uint64_t dead_version(const struct served *served)
{
    return served->seq - served->calm + served->marked;
}

/* Measures processor time, so that other processes do not make it look expensive. The incremental
 * search finds less: members of deadlocks without the processes behind them. */
static void find_all_deadlocked(struct rates *rates, struct rates_system *system,
                                const struct served *served)
{
    const uint32_t *list;
    size_t count;
    uint64_t before = work_ns();
    if (!make_set(rates, system, served) ||
        gordian_deadlocked(served->system, &list, &count, NULL) != GORDIAN_OK)
        return;
    memset(system->dead, 0, system->dead_words * sizeof *system->dead);
    for (size_t i = 0; i < count; i++)
        bits_set(system->dead, list[i]);
    system->deadlocked = (uint32_t)count;
    system->dead_seq = dead_version(served);
    system->dead_cost_ns = work_ns() - before;
}

/* Updates the membership of one process. */
static void update_dead_process(struct rates_system *system, const struct served *served,
                                uint32_t process)
{
    const struct served_process *record = &served->processes[process];
    bool dead = record->since && served_incident(served, process) != GORDIAN_NONE;
    bool was = bits_test(system->dead, process);
    if (dead != was)
        (dead ? bits_set : bits_clear)(system->dead, process);
    system->deadlocked += dead;
    system->deadlocked -= was;
}

/* Finds members of open incidents, some processes at a time. */
static void find_some_deadlocked(struct rates *rates, struct rates_system *system,
                                 const struct served *served)
{
    uint32_t limit = served_process_limit(served);
    if (!make_set(rates, system, served))
        return;
    if (limit > served->process_room)
        limit = served->process_room;
    if (system->dead_scan >= limit)
        system->dead_scan = 0;
    if (system->dead_scan == 0)
        system->dead_round = dead_version(served);
    uint32_t end = limit - system->dead_scan > RATES_SCAN ? system->dead_scan + RATES_SCAN : limit;
    for (uint32_t i = system->dead_scan; i < end; i++)
        update_dead_process(system, served, i);
    system->dead_scan = end;
    if (end == limit)
        system->dead_seq = system->dead_round; /* complete if there were no events since */
}

uint32_t rates_dead(struct rates *rates, const struct served *served, const uint64_t **set,
                    size_t *words)
{
    struct rates_system *system = record_of(rates, served);
    *words = 0;
    *set = NULL;
    if (!system)
        return 0;
    if (served->incident_count == 0) { /* always true with avoidance */
        system->dead_words = 0;
        system->deadlocked = 0;
        system->dead_scan = 0;
        system->dead_seq = UINT64_MAX;
        system->dead_cost_ns = 0;
    } else if (system->dead_seq != dead_version(served)) {
        uint32_t limit = served_process_limit(served);
        bool large = limit > RATES_SCAN || (limit > SMALL && system->dead_cost_ns > CHEAP_NS);
        (large ? find_some_deadlocked : find_all_deadlocked)(rates, system, served);
    }
    *set = system->dead;
    *words = system->dead_words;
    return system->deadlocked;
}

/* ------------------------------------------------------------------ samples */

static uint32_t rise_since(uint64_t now, uint64_t *before)
{
    uint64_t difference = now - *before;
    *before = now;
    return difference > UINT32_MAX ? UINT32_MAX : (uint32_t)difference;
}

static float higher_of(float a, float b)
{
    return a > b ? a : b;
}

void rate_add(struct rate *sum, const struct rate *one)
{
    sum->at = one->at;
    sum->events += one->events;
    sum->deadlocks += one->deadlocks;
    sum->waiting = sum->waiting > one->waiting ? sum->waiting : one->waiting;
    sum->p50_us = higher_of(sum->p50_us, one->p50_us);
    sum->p99_us = higher_of(sum->p99_us, one->p99_us);
}

static void add_second(struct rates *rates, struct rates_minutes *minutes, const struct rate *one)
{
    struct rate *sum = &minutes->sum;
    rate_add(sum, one);
    if (++minutes->seconds < 60)
        return;
    if (!minutes->list)
        minutes->list = memory_zeroed(&rates->memory, RATES_MINUTES * sizeof *minutes->list);
    if (minutes->list)
        minutes->list[minutes->next++ % RATES_MINUTES] = *sum;
    minutes->seconds = 0;
    *sum = (struct rate){0};
}

static void take_sample(struct rates *rates)
{
    struct service *service = rates->service;
    struct metrics_histogram *latency = &service->counters.latency;
    struct rate all = {
        .at = service_now(service),
        .p50_us = (float)(metrics_quantile(latency, &rates->before, 0.5) / 1e3),
        .p99_us = (float)(metrics_quantile(latency, &rates->before, 0.99) / 1e3),
    };
    size_t place = rates->next % RATES_SECONDS;
    for (uint32_t i = 0; i < service->system_limit; i++) {
        const struct served *served = service->systems[i];
        struct rates_system *system = served ? record_of(rates, served) : NULL;
        if (!system)
            continue;
        struct rate one = all;
        one.events = rise_since(served->seq, &system->events);
        one.deadlocks = rise_since(served->counters.incidents, &system->incidents);
        one.waiting = served->waiting;
        system->seconds[place] = one;
        add_second(rates, &system->minutes, &one);
        all.events += one.events;
        all.deadlocks += one.deadlocks;
        all.waiting += one.waiting;
    }
    rates->seconds[place] = all;
    add_second(rates, &rates->minutes, &all);
    rates->before = *latency;
    rates->next++;
}

bool rates_tick(struct rates *rates)
{
    struct service *service = rates->service;
    const uint64_t *dead;
    size_t words;
    for (uint32_t i = 0; i < service->system_limit; i++) {
        const struct served *served = service->systems[i];
        struct rates_system *system = served ? record_of(rates, served) : NULL;
        if (!system)
            continue;
        find_oldest(system, served);
        rates_dead(rates, served, &dead, &words);
    }
    uint64_t now = service_steady(service);
    if (now < rates->next_at)
        return false;
    /* After a stall: one sample for all of it. */
    rates->next_at += SECOND_MS;
    if (rates->next_at <= now)
        rates->next_at = now + SECOND_MS;
    take_sample(rates);
    return true;
}
