/* The same as JSON: an object a line, the summary last. */
#include "sources/collectives/tell.h"

#include "foundation/base/json/json_write.h"

/* A sentence that the text form has, too. */
struct sentence {
    struct output out;
};

static struct output *sentence_begin(struct sentence *sentence)
{
    return output_open(&sentence->out, OUTPUT_MEMORY) ? &sentence->out : NULL;
}

static void sentence_end(struct sentence *sentence, struct json *json)
{
    output_char(&sentence->out, '\0');
    json_key_text(json, "message", sentence->out.failure ? "" : sentence->out.buffer);
    output_close(&sentence->out);
}

static void list_ranks(struct json *json, const char *key, const uint32_t *ranks, size_t count)
{
    json_open(json, key, '[');
    for (size_t i = 0; i < count; i++)
        json_u64(json, ranks[i]);
    json_shut(json);
}

static void write_operation(struct json *json, const struct training *job, uint32_t index)
{
    const struct meeting *meeting = &job->meetings[index];
    const struct operation *operation = flight_operation(job, &job->flights[meeting->first]);
    const struct group *group = &job->groups[meeting->group];
    json_open(json, "operation", '{');
    json_key_text(json, "group", training_name(job, group->name));
    json_key_text(json, "desc", training_name(job, group->about));
    json_key_text(json, "name", training_name(job, operation->name));
    json_key_u64(json, "sequence", meeting->sequence);
    if (meeting->peer != GORDIAN_NONE)
        json_key_u64(json, "peer", meeting->peer);
    json_key_u64(json, "input", operation->input);
    json_key_u64(json, "output", operation->output);
    json_key_text(json, "dtype", training_name(job, operation->type));
    json_key_u64(json, "created_ns", operation->created);
    if (operation->place)
        json_key_text(json, "line", training_name(job, operation->place));
    json_open(json, "in_flight", '[');
    for (uint32_t i = 0; i < meeting->count; i++)
        json_u64(json, job->flights[meeting->first + i].rank);
    json_shut(json);
    list_ranks(json, "missing", job->late + meeting->late_first, meeting->missing_count);
    list_ranks(json, "behind", job->late + meeting->late_first + meeting->missing_count,
               meeting->late_count - meeting->missing_count);
    json_key_u64(json, "completed", meeting->completed);
    json_shut(json);
}

static void write_findings(const struct training *job, struct output *out)
{
    struct charges findings;
    if (!charges_open(&findings, job))
        return;
    for (size_t i = 0; i < findings.count; i++) {
        const struct finding *finding = &findings.list[i];
        struct sentence sentence;
        struct json json;
        struct output *text = sentence_begin(&sentence);
        if (!text)
            break;
        tell_finding(text, job, finding);
        json_begin(&json, out);
        json_open(&json, "finding", '{');
        json_key_text(&json, "blame", blame_text(finding->blame));
        list_ranks(&json, "ranks", finding->ranks, finding->count);
        sentence_end(&sentence, &json);
        write_operation(&json, job, finding->meeting);
        json_end(&json);
    }
    charges_close(&findings);
}

static void write_mismatch(const struct training *job, const struct mismatch *mismatch,
                           struct output *out)
{
    const struct meeting *meeting = &job->meetings[mismatch->meeting];
    struct sentence sentence;
    struct json json;
    struct output *text = sentence_begin(&sentence);
    if (!text)
        return;
    tell_mismatch(text, job, mismatch);
    json_begin(&json, out);
    json_open(&json, "mismatch", '{');
    json_open(&json, "odd", '[');
    for (uint32_t i = 0; i < meeting->count; i++)
        if (job->flights[meeting->first + i].odd)
            json_u64(&json, job->flights[meeting->first + i].rank);
    json_shut(&json);
    json_key_bool(&json, "tie", mismatch->tie);
    json_key_bool(&json, "name", mismatch->name);
    json_key_bool(&json, "size", mismatch->size);
    json_key_bool(&json, "dtype", mismatch->type);
    sentence_end(&sentence, &json);
    write_operation(&json, job, mismatch->meeting);
    json_end(&json);
}

static void write_cycle(const struct training *job, const struct cycle *cycle, struct output *out)
{
    const struct step *steps = job->steps + cycle->first;
    struct sentence sentence;
    struct json json;
    struct output *text = sentence_begin(&sentence);
    if (!text)
        return;
    tell_cycle(text, job, cycle);
    json_begin(&json, out);
    json_open(&json, "cycle", '{');
    json_open(&json, "ranks", '[');
    for (size_t i = 0; i < cycle->count; i++)
        json_u64(&json, steps[i].rank);
    json_shut(&json);
    if (cycle_odd(job, cycle) != GORDIAN_NONE)
        json_key_u64(&json, "odd", cycle_odd(job, cycle));
    sentence_end(&sentence, &json);
    json_open(&json, "steps", '[');
    for (size_t i = 0; i < cycle->count; i++) {
        json_open(&json, NULL, '{');
        json_key_u64(&json, "rank", steps[i].rank);
        write_operation(&json, job, steps[i].meeting);
        json_shut(&json);
    }
    json_end(&json);
}

static void write_stalled(const struct training *job, uint32_t meeting, struct output *out)
{
    struct json json;
    json_begin(&json, out);
    json_open(&json, "stalled", '{');
    write_operation(&json, job, meeting);
    json_end(&json);
}

static void write_complaints(const struct training *job, struct output *out)
{
    for (size_t i = 0; i < job->complaint_count; i++) {
        struct json json;
        json_begin(&json, out);
        json_open(&json, "unreadable", '{');
        if (job->complaints[i].rank != GORDIAN_NONE)
            json_key_u64(&json, "rank", job->complaints[i].rank);
        else
            json_key_text(&json, "file", job->complaints[i].file);
        json_key_text(&json, "message", job->complaints[i].text);
        json_end(&json);
    }
}

/* Ranks without a dump. */
static void list_unseen(struct json *json, const struct training *job)
{
    json_open(json, "unseen", '[');
    for (uint32_t r = 0; r < job->rank_count; r++)
        if (is_unseen(&job->ranks[r]))
            json_u64(json, r);
    json_shut(json);
}

/* Groups by name. */
static void list_unjudged(struct json *json, const struct training *job)
{
    json_open(json, "unjudged", '[');
    for (size_t i = 0; i < job->group_count; i++)
        if (job->groups[i].unjudged)
            json_text(json, training_name(job, job->groups[i].name));
    json_shut(json);
}

/* Ranks whose dumps do not tell whether they wait. */
static void list_undecided(struct json *json, const struct training *job)
{
    json_open(json, "undecided", '[');
    for (uint32_t r = 0; r < job->rank_count; r++)
        if (is_undecided(&job->ranks[r]))
            json_u64(json, r);
    json_shut(json);
}

static void write_summary(const struct training *job, struct output *out)
{
    const struct verdict *verdict = &job->verdict;
    struct json json;
    json_begin(&json, out);
    json_open(&json, "summary", '{');
    json_key_u64(&json, "ranks", verdict->rank_count);
    list_ranks(&json, "culprits", verdict->culprits, verdict->culprit_count);
    json_key_u64(&json, "mismatches", verdict->mismatch_count);
    json_key_u64(&json, "cycles", verdict->cycle_count);
    json_key_u64(&json, "stalled", verdict->stalled_count);
    json_key_u64(&json, "waiting", verdict->waiting_count);
    json_key_u64(&json, "dumps", verdict->dump_count);
    json_key_u64(&json, "unreadable", verdict->unread_count);
    list_unseen(&json, job);
    list_unjudged(&json, job);
    list_undecided(&json, job);
    json_end(&json);
}

void training_json(const struct training *job, struct output *out)
{
    write_complaints(job, out);
    write_findings(job, out);
    for (size_t i = 0; i < job->mismatch_count; i++)
        write_mismatch(job, &job->mismatches[i], out);
    for (size_t i = 0; i < job->cycle_count; i++)
        write_cycle(job, &job->cycles[i], out);
    for (uint32_t i = 0; i < job->meeting_count; i++)
        if (job->meetings[i].stalled)
            write_stalled(job, i, out);
    write_summary(job, out);
}
