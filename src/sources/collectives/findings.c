/* Findings of a training job: the sentence, the ranks and the operation of each. */
#include "sources/collectives/findings.h"

#include "foundation/base/sort.h"

#include <stdlib.h>

#define NAMED_MOST 6 /* most ranks listed in a sentence */

/* Ranks with the same fault at the same operation. */
struct charge {
    enum blame blame;
    uint32_t rendezvous; /* NONE: none */
    const uint32_t *ranks;
    size_t count;
};

/* ------------------------------------------------------------------ sentences */

static void write_subject(struct output *out, const uint32_t *ranks, size_t count, bool capital)
{
    output_format(out, "%s%s ", capital ? "Rank" : "rank", count > 1 ? "s" : "");
    if (count > NAMED_MOST) {
        finding_ranges(out, ranks, count, NAMED_MOST);
        return;
    }
    for (size_t i = 0; i < count; i++)
        output_format(out, "%s%u", i == 0 ? "" : i + 1 == count ? " and " : ", ", ranks[i]);
}

static void write_group(struct output *out, const struct training *job, uint32_t group)
{
    output_format(out, "group %s", training_name(job, job->groups[group].name));
    if (job->groups[group].about)
        output_format(out, " (%s)", training_name(job, job->groups[group].about));
}

static void write_meeting(struct output *out, const struct training *job, uint32_t rendezvous)
{
    const struct rendezvous *about = &job->rendezvous_list[rendezvous];
    const struct operation *operation = flight_operation(job, &job->flights[about->first]);
    const char *name = training_name(job, operation->name);
    output_format(out, "%s #%llu", *name ? name : "an operation",
                  (unsigned long long)about->sequence);
    if (about->peer != GORDIAN_NONE)
        output_format(out, " of rank %u %s rank %u", job->flights[about->first].rank,
                      operation->sends ? "to" : "from", about->peer);
    output_text(out, about->peer != GORDIAN_NONE ? " in " : " of ");
    write_group(out, job, about->group);
}

static const char *verb_form(size_t count, const char *one, const char *many)
{
    return count > 1 ? many : one;
}

static void write_absent(struct output *out, const struct training *job,
                         const struct charge *charge)
{
    const struct rendezvous *rendezvous = &job->rendezvous_list[charge->rendezvous];
    write_subject(out, charge->ranks, charge->count, true);
    output_text(out,
                rendezvous->unreceived ? " never posted the receive for " : " never arrived at ");
    write_meeting(out, job, charge->rendezvous);
    if (rendezvous->peer == GORDIAN_NONE)
        output_format(out, ", where %u rank%s", rendezvous->count,
                      rendezvous->count > 1 ? "s wait" : " waits");
    bool sends = false; /* an absent rank may have sends in flight */
    for (size_t i = 0; i < charge->count; i++)
        sends = sends || job->ranks[charge->ranks[i]].flights;
    if (sends)
        output_format(out, ", and %s only sends in flight",
                      verb_form(charge->count, "has", "have"));
    else
        output_format(out, ", and %s for no other rank", verb_form(charge->count, "waits", "wait"));
    output_format(out, ": check what %s process%s, with py-spy or gordian inspect.",
                  verb_form(charge->count, "its", "their"),
                  verb_form(charge->count, " does", "es do"));
}

static void write_stuck(struct output *out, const struct training *job, const struct charge *charge)
{
    const struct rendezvous *rendezvous = &job->rendezvous_list[charge->rendezvous];
    output_text(out, charge->count > 1 ? "The devices of " : "The device of ");
    write_subject(out, charge->ranks, charge->count, false);
    output_format(out, " %s stopped: ", verb_form(charge->count, "has", "have"));
    write_meeting(out, job, charge->rendezvous);
    if (rendezvous->completed)
        output_format(out, " is completed on %u other rank%s and not there", rendezvous->completed,
                      rendezvous->completed > 1 ? "s" : "");
    else
        output_text(out, " has begun on other ranks and not there, with nothing before it");
    output_format(out, ". Look at %s (nvidia-smi, Xid errors in dmesg).",
                  verb_form(charge->count, "that GPU", "those GPUs"));
}

static void write_charge(struct output *out, const struct training *job,
                         const struct charge *charge)
{
    if (charge->blame == BLAME_ABSENT) {
        write_absent(out, job, charge);
    } else if (charge->blame == BLAME_SILENT) {
        write_subject(out, charge->ranks, charge->count, true);
        output_format(out, " %s left no dump that can be read, and others wait for %s in ",
                      verb_form(charge->count, "has", "have"),
                      verb_form(charge->count, "it", "them"));
        write_meeting(out, job, charge->rendezvous);
        output_format(out, ": see whether %s process%s, and the machine, %s alive.",
                      verb_form(charge->count, "its", "their"), charge->count > 1 ? "es" : "",
                      verb_form(charge->count, "is", "are"));
    } else {
        write_stuck(out, job, charge);
    }
}

/* Returns the first operation that differs from the others, or that does not. */
static const struct operation *example_of(const struct training *job,
                                          const struct rendezvous *rendezvous, bool odd)
{
    for (uint32_t i = 0; i < rendezvous->count; i++)
        if (job->flights[rendezvous->first + i].odd == odd)
            return flight_operation(job, &job->flights[rendezvous->first + i]);
    return flight_operation(job, &job->flights[rendezvous->first]);
}

static void write_difference(struct output *out, const struct training *job,
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

/* Writes the ranks whose operations differ, or do not, as the subject of a sentence. */
static void write_side(struct output *out, const struct training *job,
                       const struct rendezvous *rendezvous, bool odd, bool capital)
{
    uint32_t ranks[NAMED_MOST + 1];
    uint32_t count = 0,
             side = odd ? rendezvous->odd_count : rendezvous->count - rendezvous->odd_count;
    for (uint32_t i = 0; i < rendezvous->count && count <= NAMED_MOST; i++)
        if (job->flights[rendezvous->first + i].odd == odd)
            ranks[count++] = job->flights[rendezvous->first + i].rank;
    if (side > NAMED_MOST)
        output_format(out, "%u ranks", side);
    else
        write_subject(out, ranks, side, capital);
}

static void write_mismatch(struct output *out, const struct training *job,
                           const struct mismatch *mismatch)
{
    const struct rendezvous *rendezvous = &job->rendezvous_list[mismatch->rendezvous];
    write_side(out, job, rendezvous, true, true);
    output_text(out, rendezvous->odd_count > 1 ? " do not match " : " does not match ");
    write_side(out, job, rendezvous, false, false);
    output_format(out, " at #%llu of ", (unsigned long long)rendezvous->sequence);
    write_group(out, job, rendezvous->group);
    output_text(out, ": ");
    write_difference(out, job, mismatch, example_of(job, rendezvous, true));
    output_text(out, "against ");
    write_difference(out, job, mismatch, example_of(job, rendezvous, false));
    output_text(out, "there. Compare what the ranks call.");
}

/* ------------------------------------------------------------------ cycles */

/* Returns 1 if the rank has the first operation before the second, -1 if after it, 0 if it is in
 * neither. */
static int rank_order(const struct training *job, uint32_t rank, const struct rendezvous *first,
                      const struct rendezvous *second)
{
    uint64_t records[2] = {0, 0};
    const struct rendezvous *both[2] = {first, second};
    for (int i = 0; i < 2; i++) {
        const struct membership *membership = rank_membership(&job->ranks[rank], both[i]->group);
        for (uint32_t j = 0; membership && j < membership->collectives; j++) {
            const struct operation *operation = &job->ranks[rank].operations[membership->first + j];
            if (operation->sequence == both[i]->sequence)
                records[i] = operation->record + 1;
        }
    }
    if (!records[0] && !records[1])
        return 0;
    /* an operation that is not queued comes later */
    return !records[1] || (records[0] && records[0] < records[1]) ? 1 : -1;
}

static uint32_t cycle_odd(const struct training *job, const struct cycle *cycle)
{
    if (cycle->count != 2)
        return GORDIAN_NONE;
    const struct step *steps = job->steps + cycle->first;
    const struct rendezvous *a = &job->rendezvous_list[steps[0].rendezvous];
    const struct rendezvous *b = &job->rendezvous_list[steps[1].rendezvous];
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
    const struct rendezvous *rendezvous = &job->rendezvous_list[step->rendezvous];
    for (uint32_t i = 0; i < rendezvous->count; i++)
        if (job->flights[rendezvous->first + i].rank == step->rank)
            return training_name(
                job, flight_operation(job, &job->flights[rendezvous->first + i])->place);
    return "";
}

static void write_cycle(struct output *out, const struct training *job, const struct cycle *cycle)
{
    const struct step *steps = job->steps + cycle->first;
    uint32_t odd = cycle_odd(job, cycle);
    output_format(out, "A cycle of %zu ranks: ", cycle->count);
    for (size_t i = 0; i < cycle->count && i < NAMED_MOST; i++) {
        output_format(out, "%srank %u is in ", i ? "; " : "", steps[i].rank);
        write_meeting(out, job, steps[i].rendezvous);
        if (*place_of(job, &steps[i]))
            output_format(out, ", at %s,", place_of(job, &steps[i]));
        output_format(out, " and waits for rank %u", steps[(i + 1) % cycle->count].rank);
    }
    if (cycle->count > NAMED_MOST)
        output_format(out, "; and %zu more", cycle->count - NAMED_MOST);
    output_text(out, ".");
    if (odd != GORDIAN_NONE)
        output_format(out, " Rank %u uses the two groups in a different order from most ranks.",
                      odd);
}

/* ------------------------------------------------------------------ ranks and operations */

static uint32_t add_rank(struct finding *finding, uint32_t rank, enum finding_role role)
{
    uint32_t number = finding_party(finding, finding_format(finding, "rank %u", rank), "rank");
    if (number != FINDING_NONE) {
        finding->parties[number].rank = rank;
        finding->parties[number].role = role;
    }
    return number;
}

/* Adds a resource such as "all_reduce #12 of 7". */
static uint32_t add_operation(struct finding *finding, const struct training *job, uint32_t index)
{
    const struct rendezvous *rendezvous = &job->rendezvous_list[index];
    const struct operation *from = flight_operation(job, &job->flights[rendezvous->first]);
    const struct group *group = &job->groups[rendezvous->group];
    const char *name =
        finding_format(finding, "%s #%llu of %s", training_name(job, from->name),
                       (unsigned long long)rendezvous->sequence, training_name(job, group->name));
    struct finding_operation *operation = finding_alloc(finding, sizeof *operation);
    uint32_t number = finding_resource(finding, name, "operation");
    if (number == FINDING_NONE || !operation)
        return number;
    finding->resources[number].operation = operation;
    finding->resources[number].holding = "held up by";
    *operation = (struct finding_operation){
        .group = training_name(job, group->name),
        .description = training_name(job, group->about),
        .name = training_name(job, from->name),
        .dtype = training_name(job, from->type),
        .line = from->place ? training_name(job, from->place) : NULL,
        .sequence = rendezvous->sequence,
        .input = from->input,
        .output = from->output,
        .created_ns = from->created,
        .peer = rendezvous->peer,
        .completed = rendezvous->completed,
    };
    return number;
}

/* A rank of an operation: in flight or late. */
struct attendance {
    uint32_t rank;
    uint32_t late; /* 1 + its index among the late ranks; 0: in flight */
};

static int compare_attendance(const void *left, const void *right)
{
    const struct attendance *a = left, *b = right;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static bool is_odd(const struct training *job, const struct rendezvous *rendezvous, uint32_t rank)
{
    for (uint32_t i = 0; i < rendezvous->count && rendezvous->odd_count; i++)
        if (job->flights[rendezvous->first + i].rank == rank)
            return job->flights[rendezvous->first + i].odd;
    return false;
}

static void add_rendezvous(struct finding *finding, const struct training *job, uint32_t index)
{
    const struct rendezvous *rendezvous = &job->rendezvous_list[index];
    size_t count = 0, total = (size_t)rendezvous->count + rendezvous->late_count;
    struct attendance *list = memory_alloc(&job->memory, (total + 1) * sizeof *list);
    uint32_t operation = add_operation(finding, job, index);
    finding->failed = finding->failed || !list;
    if (finding->failed) {
        memory_free(&job->memory, list);
        return;
    }
    for (uint32_t i = 0; i < rendezvous->count; i++)
        list[count++] = (struct attendance){job->flights[rendezvous->first + i].rank, 0};
    for (uint32_t i = 0; i < rendezvous->late_count; i++)
        list[count++] = (struct attendance){job->late[rendezvous->late_first + i], i + 1};
    qsort(list, count, sizeof *list, compare_attendance);
    uint32_t party = FINDING_NONE;
    for (size_t i = 0; i < count && !finding->failed; i++) {
        uint32_t rank = list[i].rank;
        if (i == 0 || list[i - 1].rank != rank) {
            bool blamed =
                job->ranks[rank].blame != BLAME_NONE && job->ranks[rank].rendezvous == index;
            party = add_rank(finding, rank,
                             blamed         ? FINDING_BLAMED
                             : list[i].late ? FINDING_OTHER
                                            : FINDING_BEHIND);
            if (party != FINDING_NONE)
                finding->parties[party].odd = is_odd(job, rendezvous, rank);
        }
        if (!list[i].late)
            finding_edge(finding, party, operation, FINDING_NONE);
        else
            finding_edge(finding, FINDING_NONE, operation, party)->relation =
                list[i].late <= rendezvous->missing_count ? FINDING_MISSING : FINDING_OLDER;
    }
    memory_free(&job->memory, list);
}

static int compare_culprits(const void *left, const void *right, void *context)
{
    const struct training *job = context;
    uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;
    const struct rank *a = &job->ranks[x], *b = &job->ranks[y];
    /* faults that explain the most come first: devices, then absent ranks */
    if (a->blame != b->blame)
        return a->blame > b->blame ? -1 : 1;
    if (a->rendezvous != b->rendezvous)
        return a->rendezvous < b->rendezvous ? -1 : 1;
    return (x > y) - (x < y);
}

/* ------------------------------------------------------------------ findings */

struct findings {
    const struct training *job;
    bool (*each)(void *context, const struct finding *finding);
    void *context;
    struct output title; /* title of the current finding */
    struct finding finding;
};

/* Passes the finding on. False: no more are wanted. */
static bool hand_out(struct findings *findings)
{
    struct finding *finding = &findings->finding;
    output_char(&findings->title, '\0');
    finding->failed = finding->failed || findings->title.failure;
    finding->title = findings->title.buffer;
    bool more = finding->failed || findings->each(findings->context, finding);
    finding_close(finding);
    findings->title.used = 0;
    return more;
}

/* Adds the operation. Ranks blamed for another fault there are not blamed in this finding. */
static void add_blamed(struct findings *findings, uint32_t rendezvous, unsigned blame)
{
    struct finding *finding = &findings->finding;
    add_rendezvous(finding, findings->job, rendezvous);
    for (size_t i = 0; i < finding->party_count; i++) {
        struct finding_party *party = &finding->parties[i];
        if (party->role == FINDING_BLAMED && findings->job->ranks[party->rank].blame != blame)
            party->role = FINDING_OTHER;
    }
}

/* Mismatches are separate findings. */
static bool list_charges(struct findings *findings)
{
    const struct training *job = findings->job;
    size_t count = job->verdict.culprit_count;
    uint32_t *ranks = memory_alloc(&job->memory, (count + 1) * sizeof *ranks);
    bool more = true;
    if (!ranks)
        return true;
    memcpy(ranks, job->culprits, count * sizeof *ranks);
    sort_with(ranks, count, sizeof *ranks, compare_culprits, (void *)(uintptr_t)job);
    for (size_t i = 0, end; i < count && more; i = end) {
        const struct rank *rank = &job->ranks[ranks[i]];
        for (end = i + 1; end < count && job->ranks[ranks[end]].blame == rank->blame &&
                          job->ranks[ranks[end]].rendezvous == rank->rendezvous;)
            end++;
        const struct charge charge = {(enum blame)rank->blame, rank->rendezvous, ranks + i,
                                      end - i};
        if (charge.blame == BLAME_MISMATCH)
            continue;
        finding_open(&findings->finding, "collectives",
                     charge.blame == BLAME_ABSENT   ? FINDING_ABSENT_RANK
                     : charge.blame == BLAME_SILENT ? FINDING_SILENT_RANK
                                                    : FINDING_STUCK_DEVICE,
                     FINDING_LIKELY);
        write_charge(&findings->title, job, &charge);
        add_blamed(findings, charge.rendezvous, charge.blame);
        more = hand_out(findings);
    }
    memory_free(&job->memory, ranks);
    return more;
}

static bool list_mismatch(struct findings *findings, const struct mismatch *mismatch)
{
    struct finding *finding = &findings->finding;
    finding_open(finding, "collectives", FINDING_MISMATCH, FINDING_LIKELY);
    write_mismatch(&findings->title, findings->job, mismatch);
    finding->differs = true;
    finding->differs_name = mismatch->name;
    finding->differs_size = mismatch->size;
    finding->differs_dtype = mismatch->type;
    finding->tie = mismatch->tie;
    add_blamed(findings, mismatch->rendezvous, BLAME_MISMATCH);
    return hand_out(findings);
}

static bool list_cycle(struct findings *findings, const struct cycle *cycle)
{
    const struct training *job = findings->job;
    const struct step *steps = job->steps + cycle->first;
    struct finding *finding = &findings->finding;
    uint32_t odd = cycle_odd(job, cycle);
    finding_open(finding, "collectives", FINDING_DEADLOCK, FINDING_PROVED);
    write_cycle(&findings->title, job, cycle);
    finding->cycle = true;
    for (size_t i = 0; i < cycle->count; i++) {
        uint32_t party = add_rank(finding, steps[i].rank, FINDING_MEMBER);
        if (party != FINDING_NONE)
            finding->parties[party].odd = steps[i].rank == odd;
    }
    for (uint32_t i = 0; i < cycle->count; i++)
        finding_edge(finding, i, add_operation(finding, job, steps[i].rendezvous),
                     i + 1 < cycle->count ? i + 1 : 0);
    return hand_out(findings);
}

void training_findings(const struct training *job,
                       bool (*each)(void *context, const struct finding *finding), void *context)
{
    struct findings findings = {.job = job, .each = each, .context = context};
    if (!output_open(&findings.title, OUTPUT_MEMORY))
        return;
    bool more = list_charges(&findings);
    for (size_t i = 0; i < job->mismatch_count && more; i++)
        more = list_mismatch(&findings, &job->mismatches[i]);
    for (size_t i = 0; i < job->cycle_count && more; i++)
        more = list_cycle(&findings, &job->cycles[i]);
    for (uint32_t i = 0; i < job->rendezvous_count && more; i++)
        if (job->rendezvous_list[i].stalled) {
            finding_open(&findings.finding, "collectives", FINDING_STALLED_OPERATION,
                         FINDING_LIKELY);
            output_text(&findings.title, "All ranks have arrived at ");
            write_meeting(&findings.title, job, i);
            output_text(&findings.title,
                        ", but it does not complete: check the network between the ranks, and "
                        "their GPUs; the dumps do not show which.");
            add_rendezvous(&findings.finding, job, i);
            more = hand_out(&findings);
        }
    output_close(&findings.title);
}

/* ------------------------------------------------------------------ the whole job */

/* Chooses the operations to draw: the operations with a fault or, if there are none, all. */
static void choose_meetings(const struct training *job, bool *chosen)
{
    size_t count = 0;
    for (size_t i = 0; i < job->verdict.culprit_count; i++, count++)
        chosen[job->ranks[job->culprits[i]].rendezvous] = true;
    for (size_t i = 0; i < job->step_count; i++, count++)
        chosen[job->steps[i].rendezvous] = true;
    for (size_t i = 0; i < job->mismatch_count; i++, count++)
        chosen[job->mismatches[i].rendezvous] = true;
    for (size_t i = 0; count == 0 && i < job->rendezvous_count; i++)
        chosen[i] = true;
}

void training_dot(const struct training *job, struct output *out)
{
    struct finding finding;
    bool *chosen = memory_zeroed(&job->memory, job->rendezvous_count + 1);
    finding_open(&finding, "collectives", FINDING_STATUS, FINDING_UNKNOWN);
    finding.failed = !chosen;
    finding.title =
        finding_format(&finding, "%zu ranks, %zu to blame, %zu cycles", job->verdict.rank_count,
                       job->verdict.culprit_count, job->cycle_count);
    for (uint32_t r = 0; r < job->rank_count; r++) {
        const struct rank *rank = &job->ranks[r];
        bool bad = rank->blame != BLAME_NONE || rank->deadlocked;
        uint32_t party = add_rank(&finding, r, bad ? FINDING_BLAMED : FINDING_OTHER);
        if (party != FINDING_NONE)
            finding.parties[party].about = rank->blame != BLAME_NONE
                                               ? blame_text((enum blame)rank->blame)
                                           : rank->deadlocked ? "deadlocked"
                                                              : "waits";
    }
    if (!finding.failed)
        choose_meetings(job, chosen);
    for (uint32_t i = 0; i < job->rendezvous_count && !finding.failed; i++) {
        const struct rendezvous *rendezvous = &job->rendezvous_list[i];
        uint32_t operation = chosen[i] ? add_operation(&finding, job, i) : FINDING_NONE;
        for (uint32_t k = 0; k < rendezvous->count && chosen[i]; k++)
            finding_edge(&finding, job->flights[rendezvous->first + k].rank, operation,
                         FINDING_NONE);
        for (uint32_t k = 0; k < rendezvous->late_count && chosen[i]; k++)
            finding_edge(&finding, FINDING_NONE, operation, job->late[rendezvous->late_first + k])
                ->held_place = k < rendezvous->missing_count ? "has not come" : "has older ones";
    }
    finding_dot(&finding, out);
    finding_close(&finding);
    memory_free(&job->memory, chosen);
}
