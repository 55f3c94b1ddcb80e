/* Writes the report of a training job as JSON: one object per line, and the summary last. */
#include "sources/collectives/findings.h"

#include "foundation/base/json/json_write.h"

static bool write_finding(void *context, const struct finding *finding)
{
    finding_json(finding, context);
    return true;
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

/* Lists the groups whose collectives could not be compared. */
static void list_unjudged(struct json *json, const struct training *job)
{
    json_open(json, "unjudged", '[');
    for (size_t i = 0; i < job->group_count; i++)
        if (job->groups[i].unjudged)
            json_text(json, training_name(job, job->groups[i].name));
    json_shut(json);
}

/* Lists ranks whose dumps do not show whether they wait. */
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
    const char *key = "culprits";
    const uint32_t *ranks = verdict->culprits;
    size_t count = verdict->culprit_count;
    json_open(&json, key, '[');
    for (size_t i = 0; i < count; i++)
        json_u64(&json, ranks[i]);
    json_shut(&json);
    json_key_u64(&json, "mismatches", verdict->mismatch_count);
    json_key_u64(&json, "cycles", verdict->cycle_count);
    json_key_u64(&json, "stalled", verdict->stalled_count);
    json_key_u64(&json, "waiting", verdict->waiting_count);
    json_key_u64(&json, "dumps", verdict->dump_count);
    json_key_u64(&json, "unreadable", verdict->unread_count);
    /* ranks without a dump */
    json_open(&json, "unseen", '[');
    for (uint32_t r = 0; r < job->rank_count; r++)
        if (is_unseen(&job->ranks[r]))
            json_u64(&json, r);
    json_shut(&json);
    list_unjudged(&json, job);
    list_undecided(&json, job);
    json_end(&json);
}

void training_json(const struct training *job, struct output *out)
{
    write_complaints(job, out);
    training_findings(job, write_finding, out);
    write_summary(job, out);
}
