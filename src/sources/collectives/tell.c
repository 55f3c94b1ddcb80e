/* Prints the report of a training job: the findings, then what was not seen and which ranks only
 * wait. */
#include "sources/collectives/findings.h"

#define PIECES_MOST 12 /* most ranges or lines without --verbose */

struct teller {
    const struct training *job;
    struct output *out;
    struct finding_look look;
    uint32_t *ranks; /* space for all ranks */
    size_t found, stalled;
    bool gap; /* a blank line precedes the next paragraph */
};

static size_t pieces_most(const struct teller *teller)
{
    return teller->look.verbose ? SIZE_MAX : PIECES_MOST;
}

static void begin_paragraph(struct teller *teller)
{
    output_text(teller->out, teller->gap ? "\n" : "");
    teller->gap = true;
}

/* Stalled operations matter only if nothing else explains the hang. */
static bool tell_finding(void *context, const struct finding *finding)
{
    struct teller *teller = context;
    if (finding->kind == FINDING_STALLED_OPERATION && !teller->look.verbose) {
        if (teller->found > teller->stalled)
            return false;
        if (teller->stalled++ == PIECES_MOST) {
            output_format(teller->out, "... and %zu more such operations\n\n",
                          teller->job->verdict.stalled_count - PIECES_MOST);
            return false;
        }
    }
    teller->found++;
    return finding_text(finding, &teller->look, teller->out);
}

static void tell_waiting(struct teller *teller)
{
    size_t count = 0;
    for (uint32_t r = 0; r < teller->job->rank_count; r++) {
        const struct rank *rank = &teller->job->ranks[r];
        if ((rank->engaged || rank->sender) && rank->blame == BLAME_NONE && !rank->disputed &&
            !rank->unjudged && !rank->undecided && !rank->deadlocked)
            teller->ranks[count++] = r;
    }
    if (count == 0)
        return;
    begin_paragraph(teller);
    output_format(teller->out, "%zu of %zu ranks only wait%s behind: ", count,
                  teller->job->verdict.rank_count, count == 1 ? "s" : "");
    finding_ranges(teller->out, teller->ranks, count, pieces_most(teller));
    output_char(teller->out, '\n');
}

/* Prints the oldest operation of a rank. */
static void tell_front(const struct teller *teller, uint32_t index)
{
    const struct rank *rank = &teller->job->ranks[index];
    output_format(teller->out, "  rank %u: ", index);
    for (uint32_t i = 0; i < rank->operation_count; i++) {
        const struct operation *operation = &rank->operations[i];
        if (!in_flight(operation) || operation->sends || operation->order != rank->oldest)
            continue;
        output_format(
            teller->out, "%s #%llu of group %s, %u in flight\n",
            training_name(teller->job, operation->name), (unsigned long long)operation->sequence,
            training_name(teller->job, teller->job->groups[operation->group].name), rank->flights);
        return;
    }
    output_text(teller->out, rank->heard ? "no operation that blocks it\n" : "no dump\n");
}

/* ------------------------------------------------------------------ not seen */

static void tell_complaint(const struct teller *teller, const struct complaint *complaint)
{
    if (complaint->rank != GORDIAN_NONE) {
        output_format(teller->out, "The dump of rank %u", complaint->rank);
    } else {
        output_text(teller->out, "The file ");
        style_name(&teller->look.style, teller->out, COLOR_PLAIN, complaint->file);
    }
    output_format(teller->out, " could not be read: %s\n", complaint->text);
}

static void tell_unread(const struct teller *teller)
{
    const struct training *job = teller->job;
    for (size_t i = 0; i < job->complaint_count; i++) {
        if (i == PIECES_MOST && !teller->look.verbose) {
            output_format(teller->out, "... and %zu more dumps that could not be read\n",
                          job->complaint_count - PIECES_MOST);
            return;
        }
        tell_complaint(teller, &job->complaints[i]);
    }
}

/* Lists ranks without a dump that were not named yet. */
static size_t list_unseen(const struct teller *teller)
{
    const struct training *job = teller->job;
    size_t count = 0;
    for (uint32_t r = 0; r < job->rank_count; r++)
        if (is_unseen(&job->ranks[r]) && job->ranks[r].blame == BLAME_NONE)
            teller->ranks[count++] = r;
    return count;
}

static void tell_unseen(const struct teller *teller)
{
    size_t count = list_unseen(teller);
    if (count == 0)
        return;
    output_text(teller->out, "There is no dump of ");
    output_text(teller->out, count > 1 ? "ranks " : "rank ");
    finding_ranges(teller->out, teller->ranks, count, pieces_most(teller));
    output_text(teller->out, ": their state is unknown.\n");
}

static void tell_unjudged(const struct teller *teller)
{
    const struct training *job = teller->job;
    for (size_t i = 0; i < job->group_count; i++)
        if (job->groups[i].unjudged)
            output_format(teller->out,
                          "Collectives of group %s were not compared: the recorder of this PyTorch "
                          "counts coalesced sends among them, so their numbers differ from rank to "
                          "rank.\n",
                          training_name(job, job->groups[i].name));
}

static void tell_undecided(const struct teller *teller)
{
    const struct training *job = teller->job;
    size_t count = 0;
    for (uint32_t r = 0; r < job->rank_count; r++)
        if (is_undecided(&job->ranks[r]))
            teller->ranks[count++] = r;
    if (count == 0)
        return;
    output_format(teller->out, "Whether rank%s ", count > 1 ? "s" : "");
    finding_ranges(teller->out, teller->ranks, count, pieces_most(teller));
    output_format(teller->out,
                  " wait%s was not decided: a single entry in the dump may be all that is left of "
                  "a coalesced group of operations, and does not tell whether it is completed or "
                  "which ranks are in it. A larger TORCH_NCCL_TRACE_BUFFER_SIZE keeps more "
                  "entries.\n",
                  count > 1 ? "" : "s");
}

static void tell_incomplete(struct teller *teller)
{
    const struct verdict *verdict = &teller->job->verdict;
    if (!verdict->unread_count && !verdict->unjudged_count && !verdict->undecided_count &&
        list_unseen(teller) == 0)
        return;
    begin_paragraph(teller);
    tell_unread(teller);
    tell_unseen(teller);
    tell_unjudged(teller);
    tell_undecided(teller);
}

/* Reports that nothing was found in what was seen. */
static void tell_nothing(struct teller *teller)
{
    const struct training *job = teller->job;
    const struct verdict *verdict = &job->verdict;
    bool incomplete = verdict_is_incomplete(verdict);
    const char *text = verdict->dump_count == 0 ? "No dump could be read: nothing was judged.\n"
                       : incomplete        ? "Nothing was found, but not everything was seen.\n"
                       : job->flight_count ? "These dumps show no fault.\n"
                                           : "Nothing is in flight: no rank waits.\n";
    begin_paragraph(teller);
    style_text(&teller->look.style, teller->out, incomplete ? COLOR_BAD : COLOR_GOOD, text);
}

void training_text(const struct training *job, struct output *out, const struct style *style,
                   bool verbose, bool quiet)
{
    struct teller teller = {.job = job, .out = out, .look = {.style = *style, .verbose = verbose}};
    teller.ranks = memory_alloc(&job->memory, (job->rank_count + 1) * sizeof *teller.ranks);
    if (!teller.ranks)
        return;
    training_findings(job, tell_finding, &teller);
    if (!teller.found && (!quiet || verdict_is_incomplete(&job->verdict)))
        tell_nothing(&teller);
    tell_incomplete(&teller);
    if (!quiet)
        tell_waiting(&teller);
    if (verbose) {
        output_text(out, "\nThe oldest operation of each rank:\n");
        for (uint32_t r = 0; r < job->rank_count; r++)
            if (job->ranks[r].listed)
                tell_front(&teller, r);
    }
    memory_free(&job->memory, teller.ranks);
}
