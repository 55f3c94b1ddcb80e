/* Prints the report of a training job: the findings, then what was not seen and which ranks only
 * wait. */
#include "sources/collectives/findings.h"

#define PIECES_MOST 12 /* most ranges or lines without --verbose */

struct printer {
    const struct training *job;
    struct output *out;
    struct finding_look look;
    uint32_t *ranks; /* space for all ranks */
    size_t found, stalled;
    bool gap; /* a blank line precedes the next paragraph */
};

static size_t pieces_most(const struct printer *printer)
{
    return printer->look.verbose ? SIZE_MAX : PIECES_MOST;
}

static void begin_paragraph(struct printer *printer)
{
    output_text(printer->out, printer->gap ? "\n" : "");
    printer->gap = true;
}

/* Stalled operations matter only if nothing else explains the hang. */
static bool print_finding(void *context, const struct finding *finding)
{
    struct printer *printer = context;
    if (finding->kind == FINDING_STALLED_OPERATION && !printer->look.verbose) {
        if (printer->found > printer->stalled)
            return false;
        if (printer->stalled++ == PIECES_MOST) {
            output_format(printer->out, "... and %zu more such operations\n\n",
                          printer->job->verdict.stalled_count - PIECES_MOST);
            return false;
        }
    }
    printer->found++;
    return finding_text(finding, &printer->look, printer->out);
}

static void print_waiting(struct printer *printer)
{
    size_t count = 0;
    for (uint32_t r = 0; r < printer->job->rank_count; r++) {
        const struct rank *rank = &printer->job->ranks[r];
        if ((rank->engaged || rank->sender) && rank->blame == BLAME_NONE && !rank->disputed &&
            !rank->unjudged && !rank->undecided && !rank->deadlocked)
            printer->ranks[count++] = r;
    }
    if (count == 0)
        return;
    begin_paragraph(printer);
    output_format(printer->out, "%zu of %zu ranks only wait%s behind: ", count,
                  printer->job->verdict.rank_count, count == 1 ? "s" : "");
    finding_ranges(printer->out, printer->ranks, count, pieces_most(printer));
    output_char(printer->out, '\n');
}

/* Prints the oldest operation of a rank. */
static void print_oldest_operation(const struct printer *printer, uint32_t index)
{
    const struct rank *rank = &printer->job->ranks[index];
    output_format(printer->out, "  rank %u: ", index);
    for (uint32_t i = 0; i < rank->operation_count; i++) {
        const struct operation *operation = &rank->operations[i];
        if (!in_flight(operation) || operation->sends || operation->order != rank->oldest)
            continue;
        output_format(printer->out, "%s #%llu of group %s, %u in flight\n",
                      training_name(printer->job, operation->name),
                      (unsigned long long)operation->sequence,
                      training_name(printer->job, printer->job->groups[operation->group].name),
                      rank->flights);
        return;
    }
    output_text(printer->out, rank->heard ? "no operation that blocks it\n" : "no dump\n");
}

/* ------------------------------------------------------------------ not seen */

static void print_complaint(const struct printer *printer, const struct complaint *complaint)
{
    if (complaint->rank != GORDIAN_NONE) {
        output_format(printer->out, "The dump of rank %u", complaint->rank);
    } else {
        output_text(printer->out, "The file ");
        style_name(&printer->look.style, printer->out, COLOR_PLAIN, complaint->file);
    }
    output_format(printer->out, " could not be read: %s\n", complaint->text);
}

static void print_unread(const struct printer *printer)
{
    const struct training *job = printer->job;
    for (size_t i = 0; i < job->complaint_count; i++) {
        if (i == PIECES_MOST && !printer->look.verbose) {
            output_format(printer->out, "... and %zu more dumps that could not be read\n",
                          job->complaint_count - PIECES_MOST);
            return;
        }
        print_complaint(printer, &job->complaints[i]);
    }
}

/* Lists ranks without a dump that were not named yet. */
static size_t list_unseen(const struct printer *printer)
{
    const struct training *job = printer->job;
    size_t count = 0;
    for (uint32_t r = 0; r < job->rank_count; r++)
        if (is_unseen(&job->ranks[r]) && job->ranks[r].blame == BLAME_NONE)
            printer->ranks[count++] = r;
    return count;
}

static void print_unseen(const struct printer *printer)
{
    size_t count = list_unseen(printer);
    if (count == 0)
        return;
    output_text(printer->out, "There is no dump of ");
    output_text(printer->out, count > 1 ? "ranks " : "rank ");
    finding_ranges(printer->out, printer->ranks, count, pieces_most(printer));
    output_text(printer->out, ": their state is unknown.\n");
}

static void print_unjudged(const struct printer *printer)
{
    const struct training *job = printer->job;
    for (size_t i = 0; i < job->group_count; i++)
        if (job->groups[i].unjudged)
            output_format(printer->out,
                          "Collectives of group %s were not compared: the recorder of this PyTorch "
                          "counts coalesced sends among them, so their numbers differ from rank to "
                          "rank.\n",
                          training_name(job, job->groups[i].name));
}

static void print_undecided(const struct printer *printer)
{
    const struct training *job = printer->job;
    size_t count = 0;
    for (uint32_t r = 0; r < job->rank_count; r++)
        if (is_undecided(&job->ranks[r]))
            printer->ranks[count++] = r;
    if (count == 0)
        return;
    output_format(printer->out, "Whether rank%s ", count > 1 ? "s" : "");
    finding_ranges(printer->out, printer->ranks, count, pieces_most(printer));
    output_format(printer->out,
                  " wait%s was not decided: a single entry in the dump may be all that is left of "
                  "a coalesced group of operations, and does not say whether it is completed or "
                  "which ranks are in it. A larger TORCH_NCCL_TRACE_BUFFER_SIZE keeps more "
                  "entries.\n",
                  count > 1 ? "" : "s");
}

static void print_incomplete(struct printer *printer)
{
    const struct verdict *verdict = &printer->job->verdict;
    if (!verdict->unread_count && !verdict->unjudged_count && !verdict->undecided_count &&
        list_unseen(printer) == 0)
        return;
    begin_paragraph(printer);
    print_unread(printer);
    print_unseen(printer);
    print_unjudged(printer);
    print_undecided(printer);
}

/* Reports that nothing was found in what was seen. */
static void print_nothing(struct printer *printer)
{
    const struct training *job = printer->job;
    const struct verdict *verdict = &job->verdict;
    bool incomplete = verdict_is_incomplete(verdict);
    const char *text = verdict->dump_count == 0 ? "No dump could be read: there is no result.\n"
                       : incomplete        ? "Nothing was found, but not everything was seen.\n"
                       : job->flight_count ? "These dumps show no fault.\n"
                                           : "Nothing is in flight: no rank waits.\n";
    begin_paragraph(printer);
    style_text(&printer->look.style, printer->out, incomplete ? COLOR_BAD : COLOR_GOOD, text);
}

void training_text(const struct training *job, struct output *out, const struct style *style,
                   bool verbose, bool quiet)
{
    struct printer printer = {
        .job = job, .out = out, .look = {.style = *style, .verbose = verbose}};
    printer.ranks = memory_alloc(&job->memory, (job->rank_count + 1) * sizeof *printer.ranks);
    if (!printer.ranks)
        return;
    training_findings(job, print_finding, &printer);
    if (!printer.found && (!quiet || verdict_is_incomplete(&job->verdict)))
        print_nothing(&printer);
    print_incomplete(&printer);
    if (!quiet)
        print_waiting(&printer);
    if (verbose) {
        output_text(out, "\nThe oldest operation of each rank:\n");
        for (uint32_t r = 0; r < job->rank_count; r++)
            if (job->ranks[r].listed)
                print_oldest_operation(&printer, r);
    }
    memory_free(&job->memory, printer.ranks);
}
