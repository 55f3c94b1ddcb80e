/* Writes the waits of a training job as a snapshot for `gordian check`. */
#include "sources/collectives/training.h"

struct trace {
    const struct training *job;
    struct output *out;
};

/* Writes a word of a trace: blanks and special characters in names become '_'. */
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
    const struct rendezvous *rendezvous = &job->rendezvous_list[process - job->rank_count];
    const struct flight *flight = &job->flights[rendezvous->first];
    write_word(trace->out, training_name(job, flight_operation(job, flight)->name));
    output_char(trace->out, '.');
    write_word(trace->out, training_name(job, job->groups[rendezvous->group].name));
    output_format(trace->out, ".%llu", (unsigned long long)rendezvous->sequence);
    if (rendezvous->peer != GORDIAN_NONE)
        output_format(trace->out, ".%u-%u", flight->rank, rendezvous->peer);
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
