#include "sources/collectives/findings.h"

#include <stdlib.h>

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

/* "all_reduce #12 of 7". */
static uint32_t add_operation(struct finding *finding, const struct training *job, uint32_t index)
{
    const struct meeting *meeting = &job->meetings[index];
    const struct operation *from = flight_operation(job, &job->flights[meeting->first]);
    const struct group *group = &job->groups[meeting->group];
    const char *name =
        finding_format(finding, "%s #%llu of %s", training_name(job, from->name),
                       (unsigned long long)meeting->sequence, training_name(job, group->name));
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
        .sequence = meeting->sequence,
        .input = from->input,
        .output = from->output,
        .created_ns = from->created,
        .peer = meeting->peer,
        .completed = meeting->completed,
    };
    return number;
}

/* The operation, the ranks in it, and those that they wait for: by rank and what it does there. */
struct attendance {
    uint32_t rank;
    uint32_t late; /* 1 + its place among the late ones; 0: it is in flight */
};

static int compare_attendance(const void *left, const void *right)
{
    const struct attendance *a = left, *b = right;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static bool is_odd(const struct training *job, const struct meeting *meeting, uint32_t rank)
{
    for (uint32_t i = 0; i < meeting->count && meeting->odd_count; i++)
        if (job->flights[meeting->first + i].rank == rank)
            return job->flights[meeting->first + i].odd;
    return false;
}

static void add_meeting(struct finding *finding, const struct training *job, uint32_t index)
{
    const struct meeting *meeting = &job->meetings[index];
    size_t count = 0, total = (size_t)meeting->count + meeting->late_count;
    struct attendance *list = memory_alloc(&job->memory, (total + 1) * sizeof *list);
    uint32_t operation = add_operation(finding, job, index);
    finding->failed = finding->failed || !list;
    if (finding->failed) {
        memory_free(&job->memory, list);
        return;
    }
    for (uint32_t i = 0; i < meeting->count; i++)
        list[count++] = (struct attendance){job->flights[meeting->first + i].rank, 0};
    for (uint32_t i = 0; i < meeting->late_count; i++)
        list[count++] = (struct attendance){job->late[meeting->late_first + i], i + 1};
    qsort(list, count, sizeof *list, compare_attendance);
    uint32_t party = FINDING_NONE;
    for (size_t i = 0; i < count && !finding->failed; i++) {
        uint32_t rank = list[i].rank;
        if (i == 0 || list[i - 1].rank != rank) {
            bool blamed = job->ranks[rank].blame != BLAME_NONE && job->ranks[rank].meeting == index;
            party = add_rank(finding, rank,
                             blamed         ? FINDING_BLAMED
                             : list[i].late ? FINDING_OTHER
                                            : FINDING_BEHIND);
            if (party != FINDING_NONE)
                finding->parties[party].odd = is_odd(job, meeting, rank);
        }
        if (!list[i].late)
            finding_edge(finding, party, operation, FINDING_NONE);
        else
            finding_edge(finding, FINDING_NONE, operation, party)->relation =
                list[i].late <= meeting->missing_count ? FINDING_MISSING : FINDING_OLDER;
    }
    memory_free(&job->memory, list);
}

/* ------------------------------------------------------------------ the sentence */

/* The text is collected between begin_title and end_title. */
static struct output *begin_title(struct finding *finding, struct output *text)
{
    bool opened = output_open(text, OUTPUT_MEMORY);
    finding->failed = finding->failed || !opened;
    return opened ? text : NULL;
}

static void end_title(struct finding *finding, struct output *text)
{
    output_char(text, '\0');
    finding->failed = finding->failed || text->failure;
    finding->title = text->failure ? "" : finding_copy(finding, text->buffer);
    output_close(text);
}

/* ------------------------------------------------------------------ findings */

void charge_finding(struct finding *finding, const struct training *job,
                    const struct charge *charge)
{
    struct output text;
    finding_open(finding, "collectives",
                 charge->blame == BLAME_ABSENT   ? FINDING_ABSENT_RANK
                 : charge->blame == BLAME_SILENT ? FINDING_SILENT_RANK
                                                 : FINDING_STUCK_DEVICE,
                 FINDING_LIKELY);
    if (begin_title(finding, &text)) {
        tell_finding(&text, job, charge);
        end_title(finding, &text);
    }
    add_meeting(finding, job, charge->meeting);
    /* Others may be to blame for something else at the same operation. */
    for (size_t i = 0; i < finding->party_count; i++) {
        struct finding_party *party = &finding->parties[i];
        if (party->role == FINDING_BLAMED && job->ranks[party->rank].blame != charge->blame)
            party->role = FINDING_OTHER;
    }
}

void mismatch_finding(struct finding *finding, const struct training *job,
                      const struct mismatch *mismatch)
{
    struct output text;
    finding_open(finding, "collectives", FINDING_MISMATCH, FINDING_LIKELY);
    if (begin_title(finding, &text)) {
        tell_mismatch(&text, job, mismatch);
        end_title(finding, &text);
    }
    finding->differs = true;
    finding->differs_name = mismatch->name;
    finding->differs_size = mismatch->size;
    finding->differs_dtype = mismatch->type;
    finding->tie = mismatch->tie;
    add_meeting(finding, job, mismatch->meeting);
    for (size_t i = 0; i < finding->party_count; i++) {
        struct finding_party *party = &finding->parties[i];
        if (party->role == FINDING_BLAMED && job->ranks[party->rank].blame != BLAME_MISMATCH)
            party->role = FINDING_OTHER;
    }
}

void cycle_finding(struct finding *finding, const struct training *job, const struct cycle *cycle)
{
    const struct step *steps = job->steps + cycle->first;
    uint32_t odd = cycle_odd(job, cycle);
    struct output text;
    finding_open(finding, "collectives", FINDING_DEADLOCK, FINDING_PROVED);
    if (begin_title(finding, &text)) {
        tell_cycle(&text, job, cycle);
        end_title(finding, &text);
    }
    finding->cycle = true;
    for (size_t i = 0; i < cycle->count; i++) {
        uint32_t party = add_rank(finding, steps[i].rank, FINDING_MEMBER);
        if (party != FINDING_NONE)
            finding->parties[party].odd = steps[i].rank == odd;
    }
    for (uint32_t i = 0; i < cycle->count; i++)
        finding_edge(finding, i, add_operation(finding, job, steps[i].meeting),
                     i + 1 < cycle->count ? i + 1 : 0);
}

void stalled_finding(struct finding *finding, const struct training *job, uint32_t meeting)
{
    struct output text;
    finding_open(finding, "collectives", FINDING_STALLED_OPERATION, FINDING_LIKELY);
    if (begin_title(finding, &text)) {
        tell_stalled(&text, job, meeting);
        end_title(finding, &text);
    }
    add_meeting(finding, job, meeting);
}
