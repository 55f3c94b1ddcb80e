#include "naive.h"

#include <stdlib.h>
#include <string.h>

#define AT(table, i, j) ((table)[(size_t)(i)*naive->resources + (j)])

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        abort();
    return memory;
}

void naive_open(struct naive *naive, uint32_t processes, uint32_t resources, bool queues,
                uint32_t patience)
{
    size_t cells = (size_t)processes * resources;
    *naive = (struct naive){
        .processes = processes, .resources = resources, .queues = queues, .patience = patience};
    naive->is_process = zeroed(processes, sizeof(bool));
    naive->is_resource = zeroed(resources, sizeof(bool));
    naive->total = zeroed(resources, sizeof(uint64_t));
    naive->claim = zeroed(cells, sizeof(uint64_t));
    naive->held = zeroed(cells, sizeof(uint64_t));
    naive->pending = zeroed(cells, sizeof(uint64_t));
    naive->waits = zeroed(processes, sizeof(bool));
    naive->on_trial = zeroed(processes, sizeof(bool));
    naive->queue = zeroed(processes, sizeof(uint32_t));
    naive->work = zeroed(resources, sizeof(uint64_t));
    naive->finished = zeroed(processes, sizeof(bool));
}

void naive_close(struct naive *naive)
{
    void *tables[] = {naive->is_process, naive->is_resource, naive->total,   naive->claim,
                      naive->held,       naive->pending,     naive->waits,   naive->on_trial,
                      naive->queue,      naive->work,        naive->finished};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        free(tables[i]);
}

void expected_open(struct expected *expected, const struct naive *naive)
{
    *expected = (struct expected){0};
    expected->served = zeroed(naive->processes, sizeof(uint32_t));
    expected->stuck = zeroed(naive->processes, sizeof(uint32_t));
    expected->lacks =
        zeroed((size_t)(naive->processes + 1) * naive->resources, sizeof(gordian_lack));
}

void expected_close(struct expected *expected)
{
    free(expected->served);
    free(expected->stuck);
    free(expected->lacks);
}

/* ------------------------------------------------------------------ safety */

uint64_t naive_free(const struct naive *naive, uint32_t resource)
{
    uint64_t left = naive->total[resource];
    for (uint32_t i = 0; i < naive->processes; i++)
        if (naive->is_process[i])
            left -= AT(naive->held, i, resource);
    return left;
}

static bool could_finish(const struct naive *naive, uint32_t i, const uint64_t *work)
{
    for (uint32_t j = 0; j < naive->resources; j++)
        if (AT(naive->claim, i, j) - AT(naive->held, i, j) > work[j])
            return false;
    return true;
}

static void give_back(const struct naive *naive, uint32_t i, uint64_t *work)
{
    for (uint32_t j = 0; j < naive->resources; j++)
        work[j] += AT(naive->held, i, j);
}

/* Lets everybody finish who can. Is that everybody? */
static bool is_safe(struct naive *naive)
{
    bool more = true, all = true;
    for (uint32_t j = 0; j < naive->resources; j++)
        naive->work[j] = naive_free(naive, j);
    for (uint32_t i = 0; i < naive->processes; i++)
        naive->finished[i] = !naive->is_process[i];
    while (more) {
        more = false;
        for (uint32_t i = 0; i < naive->processes; i++)
            if (!naive->finished[i] && could_finish(naive, i, naive->work)) {
                give_back(naive, i, naive->work);
                naive->finished[i] = more = true;
            }
    }
    for (uint32_t i = 0; i < naive->processes; i++)
        all = all && naive->finished[i];
    return all;
}

bool naive_is_sequence(const struct naive *naive, const uint32_t *processes, size_t count)
{
    uint64_t *work = zeroed(naive->resources, sizeof *work);
    bool *seen = zeroed(naive->processes, sizeof *seen);
    bool good = true;
    size_t there = 0;
    for (uint32_t i = 0; i < naive->processes; i++)
        there += naive->is_process[i];
    for (uint32_t j = 0; j < naive->resources; j++)
        work[j] = naive_free(naive, j);
    for (size_t k = 0; k < count && good; k++) {
        uint32_t i = processes[k];
        good = i < naive->processes && naive->is_process[i] && !seen[i] &&
               could_finish(naive, i, work);
        if (good) {
            seen[i] = true;
            give_back(naive, i, work);
        }
    }
    free(work);
    free(seen);
    return good && count == there;
}

/* Every order of those left, without any shortcut. */
static bool some_order(const struct naive *naive, bool *left, uint32_t count, uint64_t *work)
{
    if (count == 0)
        return true;
    for (uint32_t i = 0; i < naive->processes; i++) {
        if (!left[i] || !could_finish(naive, i, work))
            continue;
        left[i] = false;
        give_back(naive, i, work);
        if (some_order(naive, left, count - 1, work))
            return true;
        left[i] = true;
        for (uint32_t j = 0; j < naive->resources; j++)
            work[j] -= AT(naive->held, i, j);
    }
    return false;
}

bool naive_tries_all(const struct naive *naive)
{
    uint64_t *work = zeroed(naive->resources, sizeof *work);
    bool *left = zeroed(naive->processes, sizeof *left);
    uint32_t count = 0;
    for (uint32_t j = 0; j < naive->resources; j++)
        work[j] = naive_free(naive, j);
    for (uint32_t i = 0; i < naive->processes; i++) {
        left[i] = naive->is_process[i];
        count += left[i];
    }
    bool found = some_order(naive, left, count, work);
    free(work);
    free(left);
    return found;
}

/* ------------------------------------------------------------------ checking a call */

static gordian_reason not_now(const struct naive *naive, uint32_t p)
{
    if (p >= naive->processes || !naive->is_process[p])
        return GORDIAN_REASON_UNKNOWN_PROCESS;
    if (naive->waits[p])
        return GORDIAN_REASON_IS_WAITING;
    return naive->on_trial[p] ? GORDIAN_REASON_ON_TRIAL : GORDIAN_REASON_NONE;
}

/* How much of resource j the first `upto` wants come to; false: more than 64 bits hold. */
static bool wanted(const struct step *step, size_t upto, uint32_t j, uint64_t *sum)
{
    *sum = 0;
    for (size_t k = 0; k < upto; k++)
        if (step->wants[k].resource == j) {
            if (step->wants[k].units > UINT64_MAX - *sum)
                return false;
            *sum += step->wants[k].units;
        }
    return true;
}

static gordian_reason check_want(const struct naive *naive, const struct step *step, size_t k)
{
    uint32_t j = step->wants[k].resource, p = step->process;
    uint64_t sum;
    bool claims = step->kind == STEP_JOIN || step->kind == STEP_CLAIMS;
    if (j >= naive->resources || !naive->is_resource[j])
        return GORDIAN_REASON_UNKNOWN_RESOURCE;
    if (step->wants[k].units == 0)
        return claims ? GORDIAN_REASON_NONE : GORDIAN_REASON_NO_UNITS;
    bool fits = wanted(step, k + 1, j, &sum);
    if (claims && !fits)
        return GORDIAN_REASON_TOO_MANY;
    if (claims)
        return sum > naive->total[j] ? GORDIAN_REASON_NEVER_FITS : GORDIAN_REASON_NONE;
    if (step->kind == STEP_RELEASE)
        return !fits || sum > AT(naive->held, p, j) ? GORDIAN_REASON_BELOW_HELD
                                                    : GORDIAN_REASON_NONE;
    return !fits || sum > AT(naive->claim, p, j) - AT(naive->held, p, j) ? GORDIAN_REASON_OVER_CLAIM
                                                                         : GORDIAN_REASON_NONE;
}

static gordian_reason check_wants(const struct naive *naive, const struct step *step, uint32_t *at)
{
    bool claims = step->kind == STEP_JOIN || step->kind == STEP_CLAIMS;
    *at = 0;
    if (step->count == 0)
        return claims ? GORDIAN_REASON_NONE : GORDIAN_REASON_NO_UNITS;
    for (size_t k = 0; k < step->count; k++) {
        gordian_reason reason = check_want(naive, step, k);
        *at = (uint32_t)k;
        if (reason != GORDIAN_REASON_NONE)
            return reason;
    }
    return GORDIAN_REASON_NONE;
}

/* Is a new claim below what is held? The lowest such resource counts, and who named it last. */
static gordian_reason check_held(const struct naive *naive, const struct step *step, uint32_t *at)
{
    for (uint32_t j = 0; j < naive->resources; j++) {
        uint64_t sum;
        if (!wanted(step, step->count, j, &sum) || sum >= AT(naive->held, step->process, j))
            continue;
        *at = (uint32_t)step->count;
        for (size_t k = 0; k < step->count; k++)
            if (step->wants[k].resource == j)
                *at = (uint32_t)k;
        return GORDIAN_REASON_BELOW_HELD;
    }
    return GORDIAN_REASON_NONE;
}

static void decline(struct expected *expected, gordian_reason reason, uint32_t at)
{
    expected->verdict = GORDIAN_VERDICT_REFUSED;
    expected->reason = reason;
    expected->at = at;
}

/* ------------------------------------------------------------------ lending */

static bool holds_something(const struct naive *naive, uint32_t p)
{
    for (uint32_t j = 0; j < naive->resources; j++)
        if (AT(naive->held, p, j) > 0)
            return true;
    return false;
}

static void shift(struct naive *naive, uint32_t p, bool lend)
{
    for (uint32_t j = 0; j < naive->resources; j++)
        if (lend)
            AT(naive->held, p, j) += AT(naive->pending, p, j);
        else
            AT(naive->held, p, j) -= AT(naive->pending, p, j);
}

/* What p's pending request is told. Who is stuck if it is unsafe is then in `finished` and `work`,
 * with the loan still made (`keep`). */
static gordian_verdict judge(struct naive *naive, uint32_t p, gordian_reason *reason, bool keep)
{
    *reason = GORDIAN_REASON_NONE;
    for (uint32_t j = 0; j < naive->resources; j++)
        if (AT(naive->pending, p, j) > naive_free(naive, j))
            return GORDIAN_VERDICT_UNAVAILABLE;
    if (naive->queue_count > 0 && naive->queue[0] != p && naive->passed >= naive->patience &&
        !holds_something(naive, p)) {
        *reason = GORDIAN_REASON_OUT_OF_TURN;
        return GORDIAN_VERDICT_UNAVAILABLE;
    }
    shift(naive, p, true);
    bool safe = is_safe(naive);
    if (!safe && keep)
        return GORDIAN_VERDICT_UNSAFE;
    shift(naive, p, false);
    return safe ? GORDIAN_VERDICT_GRANTED : GORDIAN_VERDICT_UNSAFE;
}

static void lend(struct naive *naive, uint32_t p)
{
    if (naive->queue_count > 0 && naive->queue[0] != p)
        naive->passed++;
    shift(naive, p, true);
}

static void leave_queue(struct naive *naive, uint32_t p)
{
    uint32_t k = 0;
    while (naive->queue[k] != p)
        k++;
    if (k == 0)
        naive->passed = 0;
    for (; k + 1 < naive->queue_count; k++)
        naive->queue[k] = naive->queue[k + 1];
    naive->queue_count--;
    naive->waits[p] = false;
}

/* Serves one after another, from the start again after each: whoever comes first. */
static void serve(struct naive *naive, struct expected *expected)
{
    bool again = true;
    while (again) {
        again = false;
        for (uint32_t k = 0; k < naive->queue_count && !again; k++) {
            uint32_t p = naive->queue[k];
            gordian_reason reason;
            if (judge(naive, p, &reason, false) != GORDIAN_VERDICT_GRANTED)
                continue;
            lend(naive, p);
            leave_queue(naive, p);
            expected->served[expected->served_count++] = p;
            again = true;
        }
    }
}

/* ------------------------------------------------------------------ reasons */

static void lack(struct expected *expected, uint32_t i, uint32_t j, uint64_t units)
{
    expected->lacks[expected->lack_count++] =
        (gordian_lack){.units = units, .process = i, .resource = j};
}

/* Lists those whom is_safe left over. */
static void list_stuck(const struct naive *naive, struct expected *expected)
{
    for (uint32_t i = 0; i < naive->processes; i++) {
        if (naive->finished[i])
            continue;
        expected->stuck[expected->stuck_count++] = i;
        for (uint32_t j = 0; j < naive->resources; j++) {
            uint64_t need = AT(naive->claim, i, j) - AT(naive->held, i, j);
            if (need > naive->work[j])
                lack(expected, i, j, need - naive->work[j]);
        }
    }
}

static void list_shortage(const struct naive *naive, uint32_t p, struct expected *expected)
{
    for (uint32_t j = 0; j < naive->resources; j++)
        if (AT(naive->pending, p, j) > naive_free(naive, j))
            lack(expected, p, j, AT(naive->pending, p, j) - naive_free(naive, j));
}

/* ------------------------------------------------------------------ steps */

static void set_pending(struct naive *naive, const struct step *step)
{
    for (uint32_t j = 0; j < naive->resources; j++)
        wanted(step, step->count, j, &AT(naive->pending, step->process, j));
}

static void take_request(struct naive *naive, const struct step *step, struct expected *expected)
{
    uint32_t p = step->process, at = (uint32_t)step->count;
    gordian_reason reason = not_now(naive, p);
    if (step->kind == STEP_ACQUIRE && !naive->queues) {
        expected->status = GORDIAN_STATUS_INPUT;
        return;
    }
    if (reason == GORDIAN_REASON_NONE)
        reason = check_wants(naive, step, &at);
    if (reason != GORDIAN_REASON_NONE) {
        decline(expected, reason, at);
        return;
    }
    set_pending(naive, step);
    expected->verdict = judge(naive, p, &expected->reason, true);
    if (expected->verdict == GORDIAN_VERDICT_GRANTED) {
        lend(naive, p);
        naive->on_trial[p] = step->kind == STEP_TRY;
        return;
    }
    if (expected->verdict == GORDIAN_VERDICT_UNSAFE) {
        list_stuck(naive, expected);
        shift(naive, p, false);
    } else {
        list_shortage(naive, p, expected);
    }
    expected->waits = naive->queues && step->kind == STEP_REQUEST;
    if (expected->waits) {
        if (naive->queue_count == 0)
            naive->passed = 0;
        naive->queue[naive->queue_count++] = p;
        naive->waits[p] = true;
    }
}

static void take_release(struct naive *naive, const struct step *step, struct expected *expected)
{
    uint32_t p = step->process, at = (uint32_t)step->count;
    gordian_reason reason = not_now(naive, p);
    if (reason == GORDIAN_REASON_NONE)
        reason = check_wants(naive, step, &at);
    if (reason != GORDIAN_REASON_NONE) {
        decline(expected, reason, at);
        return;
    }
    for (size_t k = 0; k < step->count; k++)
        AT(naive->held, p, step->wants[k].resource) -= step->wants[k].units;
    expected->verdict = GORDIAN_VERDICT_RELEASED;
    serve(naive, expected);
}

static void take_cancel(struct naive *naive, uint32_t p, struct expected *expected)
{
    if (p >= naive->processes || !naive->is_process[p]) {
        decline(expected, GORDIAN_REASON_UNKNOWN_PROCESS, 0);
        return;
    }
    if (!naive->waits[p] && !naive->on_trial[p]) {
        decline(expected, GORDIAN_REASON_NOT_WAITING, 0);
        return;
    }
    if (naive->waits[p])
        leave_queue(naive, p);
    else
        shift(naive, p, false);
    naive->on_trial[p] = false;
    expected->verdict = GORDIAN_VERDICT_CANCELLED;
    serve(naive, expected);
}

static void take_commit(struct naive *naive, uint32_t p, struct expected *expected)
{
    if (p >= naive->processes || !naive->is_process[p]) {
        decline(expected, GORDIAN_REASON_UNKNOWN_PROCESS, 0);
    } else if (!naive->on_trial[p]) {
        decline(expected, GORDIAN_REASON_NO_TRIAL, 0);
    } else {
        naive->on_trial[p] = false;
        expected->verdict = GORDIAN_VERDICT_GRANTED;
    }
}

static void take_exit(struct naive *naive, uint32_t p, struct expected *expected)
{
    if (p >= naive->processes || !naive->is_process[p]) {
        decline(expected, GORDIAN_REASON_UNKNOWN_PROCESS, 0);
        return;
    }
    if (naive->waits[p])
        leave_queue(naive, p);
    naive->on_trial[p] = naive->is_process[p] = false;
    for (uint32_t j = 0; j < naive->resources; j++)
        AT(naive->claim, p, j) = AT(naive->held, p, j) = 0;
    expected->verdict = GORDIAN_VERDICT_EXITED;
    serve(naive, expected);
}

static void take_join(struct naive *naive, const struct step *step, uint32_t id,
                      struct expected *expected)
{
    uint32_t at;
    gordian_reason reason = check_wants(naive, step, &at);
    if (reason != GORDIAN_REASON_NONE) {
        decline(expected, reason, at);
        return;
    }
    naive->is_process[id] = true;
    for (size_t k = 0; k < step->count; k++)
        AT(naive->claim, id, step->wants[k].resource) += step->wants[k].units;
    expected->verdict = GORDIAN_VERDICT_CHANGED;
}

static void take_claims(struct naive *naive, const struct step *step, struct expected *expected)
{
    uint32_t p = step->process, at = (uint32_t)step->count;
    gordian_reason reason = not_now(naive, p);
    if (reason == GORDIAN_REASON_NONE)
        reason = check_wants(naive, step, &at);
    if (reason == GORDIAN_REASON_NONE)
        reason = check_held(naive, step, &at);
    if (reason != GORDIAN_REASON_NONE) {
        decline(expected, reason, at);
        return;
    }
    uint64_t *old = zeroed(naive->resources, sizeof *old);
    for (uint32_t j = 0; j < naive->resources; j++) {
        old[j] = AT(naive->claim, p, j);
        wanted(step, step->count, j, &AT(naive->claim, p, j));
    }
    if (is_safe(naive)) {
        expected->verdict = GORDIAN_VERDICT_CHANGED;
        serve(naive, expected);
    } else {
        expected->verdict = GORDIAN_VERDICT_UNSAFE;
        list_stuck(naive, expected);
        for (uint32_t j = 0; j < naive->resources; j++)
            AT(naive->claim, p, j) = old[j];
    }
    free(old);
}

static void take_units(struct naive *naive, const struct step *step, struct expected *expected)
{
    uint32_t j = step->resource;
    if (j >= naive->resources || !naive->is_resource[j]) {
        decline(expected, GORDIAN_REASON_UNKNOWN_RESOURCE, 0);
        return;
    }
    uint64_t old = naive->total[j], available = naive_free(naive, j);
    for (uint32_t i = 0; i < naive->processes; i++)
        if (naive->is_process[i] && AT(naive->claim, i, j) > step->units) {
            decline(expected, GORDIAN_REASON_NEVER_FITS, 0);
            return;
        }
    if (step->units < old && old - step->units > available) {
        expected->verdict = GORDIAN_VERDICT_UNAVAILABLE;
        lack(expected, GORDIAN_NONE, j, old - step->units - available);
        return;
    }
    naive->total[j] = step->units;
    if (step->units < old && !is_safe(naive)) {
        expected->verdict = GORDIAN_VERDICT_UNSAFE;
        list_stuck(naive, expected);
        naive->total[j] = old;
        return;
    }
    expected->verdict = GORDIAN_VERDICT_CHANGED;
    if (step->units >= old)
        serve(naive, expected);
}

static void take_remove(struct naive *naive, uint32_t j, struct expected *expected)
{
    expected->status =
        j < naive->resources && naive->is_resource[j] ? GORDIAN_OK : GORDIAN_STATUS_INPUT;
    for (uint32_t i = 0; i < naive->processes && expected->status == GORDIAN_OK; i++)
        if (naive->is_process[i] && AT(naive->claim, i, j) > 0)
            expected->status = GORDIAN_STATUS_INPUT;
    if (expected->status == GORDIAN_OK) {
        naive->is_resource[j] = false;
        naive->total[j] = 0;
    }
}

void naive_take(struct naive *naive, const struct step *step, uint32_t id,
                struct expected *expected)
{
    struct expected lists = *expected;
    *expected =
        (struct expected){.served = lists.served, .stuck = lists.stuck, .lacks = lists.lacks};
    switch (step->kind) {
    case STEP_REQUEST:
    case STEP_TRY:
    case STEP_ACQUIRE:
        take_request(naive, step, expected);
        break;
    case STEP_COMMIT:
        take_commit(naive, step->process, expected);
        break;
    case STEP_CANCEL:
        take_cancel(naive, step->process, expected);
        break;
    case STEP_RELEASE:
        take_release(naive, step, expected);
        break;
    case STEP_EXIT:
        take_exit(naive, step->process, expected);
        break;
    case STEP_JOIN:
        take_join(naive, step, id, expected);
        break;
    case STEP_CLAIMS:
        take_claims(naive, step, expected);
        break;
    case STEP_ADD_RESOURCE:
        naive->is_resource[id] = true;
        naive->total[id] = step->units;
        break;
    case STEP_REMOVE_RESOURCE:
        take_remove(naive, step->resource, expected);
        break;
    case STEP_UNITS:
        take_units(naive, step, expected);
        break;
    case STEP_KINDS:
        abort();
    }
}

gordian_verdict naive_what_if(struct naive *naive, uint32_t process, const gordian_want *wants,
                              size_t count)
{
    struct step step = {.kind = STEP_REQUEST, .process = process, .count = count};
    step.wants = zeroed(count, sizeof *wants);
    for (size_t k = 0; k < count; k++)
        step.wants[k] = wants[k];
    uint32_t at;
    gordian_verdict verdict = GORDIAN_VERDICT_REFUSED;
    gordian_reason reason;
    if (not_now(naive, process) == GORDIAN_REASON_NONE &&
        check_wants(naive, &step, &at) == GORDIAN_REASON_NONE) {
        set_pending(naive, &step);
        verdict = judge(naive, process, &reason, false);
    }
    free(step.wants);
    return verdict;
}

uint64_t naive_slack(struct naive *naive, uint32_t resource)
{
    uint64_t total = naive->total[resource], most = naive_free(naive, resource);
    for (uint32_t i = 0; i < naive->processes; i++)
        if (naive->is_process[i] && total - AT(naive->claim, i, resource) < most)
            most = total - AT(naive->claim, i, resource);
    /* All there are if they are few, else the border between safe and not. */
    uint64_t low = 0, high = most;
    while (low < high) {
        uint64_t middle = most <= 16 ? low + 1 : low + (high - low) / 2 + 1;
        naive->total[resource] = total - middle;
        if (is_safe(naive))
            low = middle;
        else
            high = middle - 1;
    }
    naive->total[resource] = total;
    return low;
}
