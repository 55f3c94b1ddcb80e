/* The waits for other programs: a snapshot for `gordian check`, a graph for Graphviz. */
#include "sources/collectives/tell.h"

/* ------------------------------------------------------------------ a snapshot */

struct trace {
    const struct training *job;
    struct output *out;
};

/* A word of a trace: blanks and the like, which names of groups may have, become '_'. */
static void write_word(struct output *out, const char *text)
{
    for (; *text; text++)
        output_char(out, (unsigned char)*text > ' ' && *text != '#' && *text != '=' ? *text : '_');
}

static void write_process(const struct trace *trace, uint32_t process)
{
    const struct training *job = trace->job;
    if (process < job->rank_count) {
        output_format(trace->out, "rank%u", process);
        return;
    }
    const struct meeting *meeting = &job->meetings[process - job->rank_count];
    const struct flight *flight = &job->flights[meeting->first];
    write_word(trace->out, training_name(job, flight_operation(job, flight)->name));
    output_char(trace->out, '.');
    write_word(trace->out, training_name(job, job->groups[meeting->group].name));
    output_format(trace->out, ".%llu", (unsigned long long)meeting->sequence);
    if (meeting->peer != GORDIAN_NONE)
        output_format(trace->out, ".%u-%u", flight->rank, meeting->peer);
}

static gordian_status write_await(void *context, uint32_t process, const uint32_t *others,
                                  size_t count, gordian_error *error)
{
    const struct trace *trace = context;
    (void)error;
    output_text(trace->out, "await ");
    write_process(trace, process);
    output_text(trace->out, " any of");
    for (size_t i = 0; i < count; i++) {
        output_char(trace->out, ' ');
        write_process(trace, others[i]);
    }
    output_char(trace->out, '\n');
    return GORDIAN_OK;
}

void training_trace(const struct training *job, struct output *out)
{
    struct trace trace = {job, out};
    const struct wait_sink sink = {write_await, &trace};
    training_waits(job, false, &sink, NULL);
}

/* ------------------------------------------------------------------ Graphviz */

static const char *in_quotes(char c)
{
    return c == '"' ? "\\\"" : c == '\\' ? "\\\\" : NULL;
}

static void dot_rank(struct output *out, const struct training *job, uint32_t index)
{
    const struct rank *rank = &job->ranks[index];
    bool bad = rank->blame != BLAME_NONE || rank->deadlocked;
    output_format(out, "  r%u [label=\"rank %u", index, index);
    if (rank->blame != BLAME_NONE)
        output_format(out, "\\n%s", blame_text((enum blame)rank->blame));
    output_format(out, "\", shape=box, style=\"filled,rounded\", fillcolor=\"%s\"];\n",
                  bad ? "#f5b7b1" : "#d6eaf8");
}

static void dot_meeting(struct output *out, const struct training *job, uint32_t index)
{
    struct output text;
    if (!output_open(&text, OUTPUT_MEMORY))
        return;
    tell_meeting(&text, job, index);
    output_char(&text, '\0');
    output_format(out, "  m%u [label=\"", index);
    style_escaped(out, text.failure ? "" : text.buffer, in_quotes);
    output_text(out, "\", shape=ellipse, style=filled, fillcolor=\"#fff3cd\"];\n");
    output_close(&text);
}

static void dot_edges(struct output *out, const struct training *job, uint32_t index)
{
    const struct meeting *meeting = &job->meetings[index];
    for (uint32_t i = 0; i < meeting->count; i++)
        output_format(out, "  r%u -> m%u [label=\"is in\"];\n",
                      job->flights[meeting->first + i].rank, index);
    for (uint32_t i = 0; i < meeting->late_count; i++)
        output_format(out, "  m%u -> r%u [label=\"%s\", color=\"#c0392b\"];\n", index,
                      job->late[meeting->late_first + i],
                      i < meeting->missing_count ? "has not come" : "has older ones");
}

/* Meetings that are shown: where somebody is to blame, of cycles; all if there is none of these. */
static void choose_meetings(const struct training *job, bool *chosen)
{
    size_t count = 0;
    for (size_t i = 0; i < job->verdict.culprit_count; i++, count++)
        chosen[job->ranks[job->culprits[i]].meeting] = true;
    for (size_t i = 0; i < job->step_count; i++, count++)
        chosen[job->steps[i].meeting] = true;
    for (size_t i = 0; i < job->mismatch_count; i++, count++)
        chosen[job->mismatches[i].meeting] = true;
    for (size_t i = 0; count == 0 && i < job->meeting_count; i++)
        chosen[i] = true;
}

static void choose_ranks(const struct training *job, const bool *chosen, bool *ranks)
{
    for (size_t i = 0; i < job->meeting_count; i++) {
        const struct meeting *meeting = &job->meetings[i];
        for (uint32_t j = 0; chosen[i] && j < meeting->count; j++)
            ranks[job->flights[meeting->first + j].rank] = true;
        for (uint32_t j = 0; chosen[i] && j < meeting->late_count; j++)
            ranks[job->late[meeting->late_first + j]] = true;
    }
}

void training_dot(const struct training *job, struct output *out)
{
    bool *meetings = memory_zeroed(&job->memory, job->meeting_count + job->rank_count + 1);
    if (!meetings)
        return;
    bool *ranks = meetings + job->meeting_count;
    choose_meetings(job, meetings);
    choose_ranks(job, meetings, ranks);
    output_text(out, "digraph gordian {\n  node [fontname=\"sans-serif\"];\n"
                     "  edge [fontname=\"sans-serif\", fontsize=11];\n");
    for (uint32_t r = 0; r < job->rank_count; r++)
        if (ranks[r])
            dot_rank(out, job, r);
    for (uint32_t i = 0; i < job->meeting_count; i++) {
        if (!meetings[i])
            continue;
        dot_meeting(out, job, i);
        dot_edges(out, job, i);
    }
    output_text(out, "}\n");
    memory_free(&job->memory, meetings);
}
