/* What a person reads: what to do, then the evidence, then the rest in few words. */
#include "sources/collectives/findings.h"

#define PIECES_MOST 12 /* of a list of ranks, unless everything is wanted */

struct teller {
    const struct training *job;
    struct output *out;
    const struct style *style;
    bool verbose;
    uint32_t *ranks; /* room for all */
};

static size_t pieces_most(const struct teller *teller)
{
    return teller->verbose ? SIZE_MAX : PIECES_MOST;
}

/* "  in it      8, 10-13, 15" */
static void list_line(const struct teller *teller, const char *what, const uint32_t *ranks,
                      size_t count)
{
    if (count == 0)
        return;
    output_format(teller->out, "    %-10s ", what);
    tell_ranks(teller->out, ranks, count, pieces_most(teller));
    output_char(teller->out, '\n');
}

static void operation_lines(const struct teller *teller, const struct operation *operation)
{
    struct output *out = teller->out;
    const struct training *job = teller->job;
    output_format(out, "    %-10s %llu -> %llu elements %s\n", "sizes",
                  (unsigned long long)operation->input, (unsigned long long)operation->output,
                  training_name(job, operation->type));
    if (operation->created) {
        output_format(out, "    %-10s ", "queued");
        tell_time(out, operation->created);
        output_char(out, '\n');
    }
    if (operation->place) {
        output_format(out, "    %-10s ", "line");
        style_name(teller->style, out, COLOR_PLAIN, training_name(job, operation->place));
        output_char(out, '\n');
    }
}

/* The operation a finding shows at: who is in it, who is not. */
static void meeting_lines(const struct teller *teller, uint32_t index)
{
    const struct training *job = teller->job;
    const struct meeting *meeting = &job->meetings[index];
    const uint32_t *late = job->late + meeting->late_first;
    size_t count = meeting_ranks(job, index, teller->ranks);
    list_line(teller, "in flight", teller->ranks, count);
    list_line(teller, "not there", late, meeting->missing_count);
    list_line(teller, "behind", late + meeting->missing_count,
              meeting->late_count - meeting->missing_count);
    operation_lines(teller, flight_operation(job, &job->flights[meeting->first]));
}

static void headline_color(const struct teller *teller, enum color color)
{
    style_color(teller->style, teller->out, color);
}

static void blank_line(const struct teller *teller, bool *first)
{
    if (!*first)
        output_char(teller->out, '\n');
    *first = false;
}

static void tell_findings(const struct teller *teller, bool *first)
{
    struct charges findings;
    if (!charges_open(&findings, teller->job))
        return;
    for (size_t i = 0; i < findings.count; i++) {
        headline_color(teller, COLOR_BAD);
        tell_finding(teller->out, teller->job, &findings.list[i]);
        headline_color(teller, COLOR_PLAIN);
        output_char(teller->out, '\n');
    }
    for (size_t i = 0; i < findings.count; i++) {
        const struct charge *finding = &findings.list[i];
        if (i == 0)
            output_char(teller->out, '\n');
        output_text(teller->out, "  ");
        tell_subject(teller->out, finding->ranks, finding->count, false);
        output_format(teller->out, ": %s, ", blame_text(finding->blame));
        tell_meeting(teller->out, teller->job, finding->meeting);
        output_char(teller->out, '\n');
        meeting_lines(teller, finding->meeting);
    }
    *first &= findings.count == 0;
    charges_close(&findings);
}

static void tell_ties(const struct teller *teller, bool *first)
{
    for (size_t i = 0; i < teller->job->mismatch_count; i++) {
        const struct mismatch *mismatch = &teller->job->mismatches[i];
        if (!mismatch->tie)
            continue;
        blank_line(teller, first);
        headline_color(teller, COLOR_BAD);
        tell_mismatch(teller->out, teller->job, mismatch);
        headline_color(teller, COLOR_PLAIN);
        output_char(teller->out, '\n');
        meeting_lines(teller, mismatch->meeting);
    }
}

/* ------------------------------------------------------------------ cycles */

static void tell_cycles(const struct teller *teller, bool *first)
{
    struct finding finding;
    for (size_t i = 0; i < teller->job->cycle_count; i++) {
        const struct cycle *cycle = &teller->job->cycles[i];
        blank_line(teller, first);
        headline_color(teller, COLOR_BAD);
        tell_cycle(teller->out, teller->job, cycle);
        headline_color(teller, COLOR_PLAIN);
        output_text(teller->out, "\n\n");
        cycle_finding(&finding, teller->job, cycle);
        finding_draw(&finding, teller->style, teller->verbose, teller->out);
        finding_close(&finding);
    }
}

/* ------------------------------------------------------------------ the rest */

/* Riddles matter where nothing else explains the hang. */
static void tell_riddles(const struct teller *teller, bool *first)
{
    const struct training *job = teller->job;
    if ((job->verdict.culprit_count || job->cycle_count || job->mismatch_count) && !teller->verbose)
        return;
    size_t told = 0;
    for (uint32_t i = 0; i < job->meeting_count; i++) {
        if (!job->meetings[i].stalled)
            continue;
        if (told++ == PIECES_MOST && !teller->verbose) {
            output_format(teller->out, "... and %zu more such operations\n",
                          job->verdict.stalled_count - PIECES_MOST);
            return;
        }
        blank_line(teller, first);
        headline_color(teller, COLOR_BAD);
        tell_stalled(teller->out, job, i);
        headline_color(teller, COLOR_PLAIN);
        output_char(teller->out, '\n');
        meeting_lines(teller, i);
    }
}

static bool waits_behind(const struct rank *rank)
{
    return (rank->engaged || rank->sender) && rank->blame == BLAME_NONE && !rank->disputed &&
           !rank->unjudged && !rank->undecided && !rank->deadlocked;
}

static void tell_waiting(const struct teller *teller, bool *first)
{
    size_t count = 0;
    for (uint32_t r = 0; r < teller->job->rank_count; r++)
        if (waits_behind(&teller->job->ranks[r]))
            teller->ranks[count++] = r;
    if (count == 0)
        return;
    blank_line(teller, first);
    output_format(teller->out, "%zu of %zu ranks only wait%s behind: ", count,
                  teller->job->verdict.rank_count, count == 1 ? "s" : "");
    tell_ranks(teller->out, teller->ranks, count, pieces_most(teller));
    output_char(teller->out, '\n');
}

/* What a rank is in first. */
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
    output_text(teller->out, rank->heard ? "nothing that holds it up\n" : "no dump\n");
}

/* ------------------------------------------------------------------ what was not seen */

static void tell_complaint(const struct teller *teller, const struct complaint *complaint)
{
    if (complaint->rank != GORDIAN_NONE) {
        output_format(teller->out, "The dump of rank %u", complaint->rank);
    } else {
        output_text(teller->out, "The file ");
        style_name(teller->style, teller->out, COLOR_PLAIN, complaint->file);
    }
    output_format(teller->out, " could not be read: %s\n", complaint->text);
}

static void tell_unread(const struct teller *teller)
{
    const struct training *job = teller->job;
    for (size_t i = 0; i < job->complaint_count; i++) {
        if (i == PIECES_MOST && !teller->verbose) {
            output_format(teller->out, "... and %zu more dumps that could not be read\n",
                          job->complaint_count - PIECES_MOST);
            return;
        }
        tell_complaint(teller, &job->complaints[i]);
    }
}

/* Ranks without a dump. Those that are to blame for it are named already. */
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
    tell_ranks(teller->out, teller->ranks, count, pieces_most(teller));
    output_text(teller->out, ": what happens there was not seen.\n");
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
    tell_ranks(teller->out, teller->ranks, count, pieces_most(teller));
    output_format(teller->out,
                  " wait%s was not decided: a single entry in the dump may be all that is left of "
                  "a coalesced group of operations, and does not tell whether it is completed or "
                  "which ranks are in it. A larger TORCH_NCCL_TRACE_BUFFER_SIZE keeps more "
                  "entries.\n",
                  count > 1 ? "" : "s");
}

static void tell_incomplete(const struct teller *teller, bool *first)
{
    const struct verdict *verdict = &teller->job->verdict;
    if (!verdict->unread_count && !verdict->unjudged_count && !verdict->undecided_count &&
        list_unseen(teller) == 0)
        return;
    blank_line(teller, first);
    tell_unread(teller);
    tell_unseen(teller);
    tell_unjudged(teller);
    tell_undecided(teller);
}

/* Nothing was found: in what was seen. */
static void tell_nothing(const struct teller *teller)
{
    const struct training *job = teller->job;
    const struct verdict *verdict = &job->verdict;
    bool incomplete = verdict_is_incomplete(verdict);
    const char *text = verdict->dump_count == 0 ? "No dump could be read: nothing was judged.\n"
                       : incomplete        ? "Nothing was found, but not everything was seen.\n"
                       : job->flight_count ? "Nobody is to blame by these dumps.\n"
                                           : "Nothing is in flight: nobody waits.\n";
    style_text(teller->style, teller->out, incomplete ? COLOR_BAD : COLOR_GOOD, text);
}

void training_text(const struct training *job, struct output *out, const struct style *style,
                   bool verbose, bool quiet)
{
    struct teller teller = {.job = job, .out = out, .style = style, .verbose = verbose};
    bool first = true;
    teller.ranks = memory_alloc(&job->memory, (job->rank_count + 1) * sizeof *teller.ranks);
    if (!teller.ranks)
        return;
    tell_findings(&teller, &first);
    tell_ties(&teller, &first);
    tell_cycles(&teller, &first);
    tell_riddles(&teller, &first);
    if (first && (!quiet || verdict_is_incomplete(&job->verdict))) {
        tell_nothing(&teller);
        first = false;
    }
    tell_incomplete(&teller, &first);
    first = false;
    if (!quiet)
        tell_waiting(&teller, &first);
    if (verbose) {
        output_text(out, "\nWhat every rank is in first:\n");
        for (uint32_t r = 0; r < job->rank_count; r++)
            if (job->ranks[r].listed)
                tell_front(&teller, r);
    }
    memory_free(&job->memory, teller.ranks);
}
