/* The sentences about a job: for text, JSON and pictures alike. */
#include "sources/collectives/tell.h"

#include "foundation/base/sort.h"

#include <stdlib.h>
#include <time.h>

#define NAMED_MOST 6 /* ranks named in a sentence */

/* ------------------------------------------------------------------ findings */

static int compare_culprits(const void *left, const void *right, void *context)
{
    const struct training *job = context;
    uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;
    const struct rank *a = &job->ranks[x], *b = &job->ranks[y];
    /* What explains most comes first: devices, then those that are not there. */
    if (a->blame != b->blame)
        return a->blame > b->blame ? -1 : 1;
    if (a->meeting != b->meeting)
        return a->meeting < b->meeting ? -1 : 1;
    return (x > y) - (x < y);
}

bool charges_open(struct charges *findings, const struct training *job)
{
    size_t count = job->verdict.culprit_count;
    *findings = (struct charges){.job = job};
    findings->ranks = memory_alloc(&job->memory, (count + 1) * sizeof *findings->ranks);
    findings->list = memory_alloc(&job->memory, (count + 1) * sizeof *findings->list);
    if (!findings->ranks || !findings->list) {
        charges_close(findings);
        return false;
    }
    memcpy(findings->ranks, job->culprits, count * sizeof *findings->ranks);
    sort_with(findings->ranks, count, sizeof *findings->ranks, compare_culprits,
              (void *)(uintptr_t)job);
    for (size_t i = 0; i < count; i++) {
        const struct rank *rank = &job->ranks[findings->ranks[i]];
        struct charge *last = findings->count ? &findings->list[findings->count - 1] : NULL;
        if (last && last->blame == (enum blame)rank->blame && last->meeting == rank->meeting)
            last->count++;
        else
            findings->list[findings->count++] =
                (struct charge){(enum blame)rank->blame, rank->meeting, findings->ranks + i, 1};
    }
    return true;
}

void charges_close(struct charges *findings)
{
    if (findings->job)
        memory_free_all(&findings->job->memory, findings->ranks, findings->list);
    *findings = (struct charges){0};
}

/* ------------------------------------------------------------------ lists */

void tell_ranks(struct output *out, const uint32_t *ranks, size_t count, size_t most)
{
    for (size_t i = 0, pieces = 0, end; i < count; i = end) {
        end = i + 1;
        while (end < count && ranks[end] == ranks[end - 1] + 1)
            end++;
        if (++pieces > most) {
            output_format(out, " and %zu more", count - i);
            return;
        }
        output_format(out, "%s%u", pieces > 1 ? ", " : "", ranks[i]);
        if (end - i > 1)
            output_format(out, "%s%u", end - i > 2 ? "-" : ", ", ranks[end - 1]);
    }
}

void tell_subject(struct output *out, const uint32_t *ranks, size_t count, bool capital)
{
    output_format(out, "%s%s ", capital ? "Rank" : "rank", count > 1 ? "s" : "");
    if (count > NAMED_MOST) {
        tell_ranks(out, ranks, count, NAMED_MOST);
        return;
    }
    for (size_t i = 0; i < count; i++)
        output_format(out, "%s%u", i == 0 ? "" : i + 1 == count ? " and " : ", ", ranks[i]);
}

static void tell_group(struct output *out, const struct training *job, uint32_t group)
{
    output_format(out, "group %s", training_name(job, job->groups[group].name));
    if (job->groups[group].about)
        output_format(out, " (%s)", training_name(job, job->groups[group].about));
}

void tell_meeting(struct output *out, const struct training *job, uint32_t meeting)
{
    const struct meeting *about = &job->meetings[meeting];
    const struct operation *operation = flight_operation(job, &job->flights[about->first]);
    const char *name = training_name(job, operation->name);
    output_format(out, "%s #%llu", *name ? name : "an operation",
                  (unsigned long long)about->sequence);
    if (about->peer != GORDIAN_NONE)
        output_format(out, " of rank %u %s rank %u", job->flights[about->first].rank,
                      operation->sends ? "to" : "from", about->peer);
    output_text(out, about->peer != GORDIAN_NONE ? " in " : " of ");
    tell_group(out, job, about->group);
}

size_t meeting_ranks(const struct training *job, uint32_t meeting, uint32_t *ranks)
{
    const struct meeting *about = &job->meetings[meeting];
    for (uint32_t i = 0; i < about->count; i++)
        ranks[i] = job->flights[about->first + i].rank;
    return about->count;
}

void tell_time(struct output *out, uint64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000u);
    struct tm parts;
    char text[32];
    if (gmtime_r(&seconds, &parts) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts))
        output_format(out, "%s.%03u UTC", text, (unsigned)(ns / 1000000u % 1000u));
}

/* ------------------------------------------------------------------ sentences */

static const char *verb_form(size_t count, const char *one, const char *many)
{
    return count > 1 ? many : one;
}

/* Does one of them have something in flight? Of ranks that are absent, sends. */
static bool has_sends(const struct training *job, const struct charge *finding)
{
    for (size_t i = 0; i < finding->count; i++)
        if (job->ranks[finding->ranks[i]].flights)
            return true;
    return false;
}

static void say_absent(struct output *out, const struct training *job, const struct charge *finding)
{
    const struct meeting *meeting = &job->meetings[finding->meeting];
    tell_subject(out, finding->ranks, finding->count, true);
    output_text(out, meeting->unreceived ? " never posted the receive for " : " never came to ");
    tell_meeting(out, job, finding->meeting);
    if (meeting->peer == GORDIAN_NONE)
        output_format(out, ", where %u rank%s", meeting->count,
                      meeting->count > 1 ? "s wait" : " waits");
    if (has_sends(job, finding))
        output_format(out, ", and %s only sends in flight",
                      verb_form(finding->count, "has", "have"));
    else
        output_format(out, ", and %s for nobody", verb_form(finding->count, "waits", "wait"));
    output_format(out, ": look at what %s process%s, with py-spy or gordian inspect.",
                  verb_form(finding->count, "its", "their"),
                  verb_form(finding->count, " does", "es do"));
}

static void say_stuck(struct output *out, const struct training *job, const struct charge *finding)
{
    const struct meeting *meeting = &job->meetings[finding->meeting];
    output_text(out, finding->count > 1 ? "The devices of " : "The device of ");
    tell_subject(out, finding->ranks, finding->count, false);
    output_format(out, " %s stopped: ", verb_form(finding->count, "has", "have"));
    tell_meeting(out, job, finding->meeting);
    if (meeting->completed)
        output_format(out, " is completed on %u other rank%s and not there", meeting->completed,
                      meeting->completed > 1 ? "s" : "");
    else
        output_text(out, " has begun on other ranks and not there, with nothing before it");
    output_format(out, ". Look at %s (nvidia-smi, Xid errors in dmesg).",
                  verb_form(finding->count, "that GPU", "those GPUs"));
}

static const struct mismatch *mismatch_of(const struct training *job, uint32_t meeting)
{
    for (size_t i = 0; i < job->mismatch_count; i++)
        if (job->mismatches[i].meeting == meeting)
            return &job->mismatches[i];
    return NULL;
}

void tell_finding(struct output *out, const struct training *job, const struct charge *finding)
{
    if (finding->blame == BLAME_ABSENT)
        say_absent(out, job, finding);
    else if (finding->blame == BLAME_SILENT) {
        tell_subject(out, finding->ranks, finding->count, true);
        output_format(out, " %s left no dump that can be read, and others wait for %s in ",
                      verb_form(finding->count, "has", "have"),
                      verb_form(finding->count, "it", "them"));
        tell_meeting(out, job, finding->meeting);
        output_format(out, ": see whether %s process%s, and the machine, %s alive.",
                      verb_form(finding->count, "its", "their"), finding->count > 1 ? "es" : "",
                      verb_form(finding->count, "is", "are"));
    } else if (finding->blame == BLAME_STUCK)
        say_stuck(out, job, finding);
    else
        tell_mismatch(out, job, mismatch_of(job, finding->meeting));
}

/* The first flight that is odd, or is not. */
static const struct operation *example_of(const struct training *job, const struct meeting *meeting,
                                          bool odd)
{
    for (uint32_t i = 0; i < meeting->count; i++)
        if (job->flights[meeting->first + i].odd == odd)
            return flight_operation(job, &job->flights[meeting->first + i]);
    return flight_operation(job, &job->flights[meeting->first]);
}

static void say_difference(struct output *out, const struct training *job,
                           const struct mismatch *mismatch, const struct operation *operation)
{
    if (mismatch->name || mismatch->tie)
        output_format(out, "%s ", training_name(job, operation->name));
    if (mismatch->size || mismatch->tie)
        output_format(out, "%llu -> %llu elements ", (unsigned long long)operation->input,
                      (unsigned long long)operation->output);
    if (mismatch->type || mismatch->tie)
        output_format(out, "%s ", training_name(job, operation->type));
}

/* The ranks of a meeting that are odd, or are not, as the subject of a sentence. */
static void say_side(struct output *out, const struct training *job, const struct meeting *meeting,
                     bool odd, bool capital)
{
    uint32_t ranks[NAMED_MOST + 1];
    uint32_t count = 0, side = odd ? meeting->odd_count : meeting->count - meeting->odd_count;
    for (uint32_t i = 0; i < meeting->count && count <= NAMED_MOST; i++)
        if (job->flights[meeting->first + i].odd == odd)
            ranks[count++] = job->flights[meeting->first + i].rank;
    if (side > NAMED_MOST)
        output_format(out, "%u ranks", side);
    else
        tell_subject(out, ranks, side, capital);
}

void tell_mismatch(struct output *out, const struct training *job, const struct mismatch *mismatch)
{
    const struct meeting *meeting = &job->meetings[mismatch->meeting];
    say_side(out, job, meeting, true, true);
    output_text(out, meeting->odd_count > 1 ? " do not match " : " does not match ");
    say_side(out, job, meeting, false, false);
    output_format(out, " at #%llu of ", (unsigned long long)meeting->sequence);
    tell_group(out, job, meeting->group);
    output_text(out, ": ");
    say_difference(out, job, mismatch, example_of(job, meeting, true));
    output_text(out, "against ");
    say_difference(out, job, mismatch, example_of(job, meeting, false));
    output_text(out, "there. Compare what the ranks call.");
}

void tell_stalled(struct output *out, const struct training *job, uint32_t meeting)
{
    output_text(out, "Everybody has come to ");
    tell_meeting(out, job, meeting);
    output_text(out, ", and it does not complete: look at the network between the ranks, and at "
                     "their GPUs; the dumps do not tell which.");
}

/* ------------------------------------------------------------------ cycles */

/* Has this rank the first meeting before the second? 1: yes, -1: the other way round, 0: it is not
 * in both. */
static int rank_order(const struct training *job, uint32_t rank, const struct meeting *first,
                      const struct meeting *second)
{
    uint64_t records[2] = {0, 0};
    const struct meeting *both[2] = {first, second};
    for (int i = 0; i < 2; i++) {
        const struct seat *seat = rank_seat(&job->ranks[rank], both[i]->group);
        for (uint32_t j = 0; seat && j < seat->collectives; j++) {
            const struct operation *operation = &job->ranks[rank].operations[seat->first + j];
            if (operation->sequence == both[i]->sequence)
                records[i] = operation->record + 1;
        }
    }
    if (!records[0] && !records[1])
        return 0;
    /* What is not queued comes later. */
    return !records[1] || (records[0] && records[0] < records[1]) ? 1 : -1;
}

uint32_t cycle_odd(const struct training *job, const struct cycle *cycle)
{
    if (cycle->count != 2)
        return GORDIAN_NONE;
    const struct step *steps = job->steps + cycle->first;
    const struct meeting *a = &job->meetings[steps[0].meeting];
    const struct meeting *b = &job->meetings[steps[1].meeting];
    if (a->peer != GORDIAN_NONE || b->peer != GORDIAN_NONE)
        return GORDIAN_NONE;
    size_t first = 0, second = 0;
    for (uint32_t i = 0; i < job->groups[a->group].count; i++) {
        int order = rank_order(job, job->groups[a->group].members[i], a, b);
        first += order > 0;
        second += order < 0;
    }
    return first > second ? steps[1].rank : second > first ? steps[0].rank : GORDIAN_NONE;
}

static const char *place_of(const struct training *job, const struct step *step)
{
    const struct meeting *meeting = &job->meetings[step->meeting];
    for (uint32_t i = 0; i < meeting->count; i++)
        if (job->flights[meeting->first + i].rank == step->rank)
            return training_name(job,
                                 flight_operation(job, &job->flights[meeting->first + i])->place);
    return "";
}

void tell_cycle(struct output *out, const struct training *job, const struct cycle *cycle)
{
    const struct step *steps = job->steps + cycle->first;
    uint32_t odd = cycle_odd(job, cycle);
    output_format(out, "A cycle of %zu ranks: ", cycle->count);
    for (size_t i = 0; i < cycle->count && i < NAMED_MOST; i++) {
        output_format(out, "%srank %u is in ", i ? "; " : "", steps[i].rank);
        tell_meeting(out, job, steps[i].meeting);
        if (*place_of(job, &steps[i]))
            output_format(out, ", at %s,", place_of(job, &steps[i]));
        output_format(out, " and waits for rank %u", steps[(i + 1) % cycle->count].rank);
    }
    if (cycle->count > NAMED_MOST)
        output_format(out, "; and %zu more", cycle->count - NAMED_MOST);
    output_text(out, ".");
    if (odd != GORDIAN_NONE)
        output_format(out, " Rank %u takes the two groups in another order than most.", odd);
}
