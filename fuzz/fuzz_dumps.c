/* Any bytes as the dump of a rank: it is read, or refused with a reason; of what is read a job of
 * two ranks is judged and told in every form. */
#include "fuzz.h"

#include "sources/collectives/collectives.h"

#include <string.h>

/* Another rank of the job, which never did anything. */
static const char other_dump[] =
    "{\"version\":\"2.9\",\"pg_config\":{\"0\":{\"desc\":\"default_pg\",\"ranks\":\"[0, 1, "
    "2]\"}},\"pg_status\":{\"0\":"
    "{\"last_enqueued_collective\":-1,\"last_completed_collective\":-1}},\"entries\":[]}";

static void tell_all(const struct training *job)
{
    void (*const tellers[])(const struct training *job, struct output *out) = {
        training_json, training_svg, training_dot, training_trace};
    const struct style style = {.utf8 = true};
    struct output out;
    for (size_t i = 0; i <= sizeof tellers / sizeof *tellers; i++) {
        DEMAND(output_open(&out, OUTPUT_MEMORY), "out of memory");
        if (i < sizeof tellers / sizeof *tellers)
            tellers[i](job, &out);
        else
            training_text(job, &out, &style, true, false);
        DEMAND(!out.failure, "telling failed: %s", strerror(out.failure));
        output_close(&out);
    }
}

static void judge_job(struct training *job)
{
    struct verdict verdict;
    gordian_error error = {0};
    gordian_status status = training_judge(job, &verdict, &error);
    DEMAND(status == GORDIAN_OK || status == GORDIAN_STATUS_INPUT, "status %d: %s", status,
           error.message);
    if (status != GORDIAN_OK)
        return;
    DEMAND(verdict.culprit_count + verdict.waiting_count <= verdict.rank_count,
           "%zu to blame and %zu waiting of %zu", verdict.culprit_count, verdict.waiting_count,
           verdict.rank_count);
    for (size_t i = 0; i < verdict.culprit_count; i++)
        DEMAND(training_blame(job, verdict.culprits[i]) != BLAME_NONE, "a culprit without blame");
    tell_all(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct training *job;
    gordian_error error = {0};
    char *bytes = malloc(size + 1);
    DEMAND(bytes && training_open(&job, &error) == GORDIAN_OK, "out of memory");
    if (size)
        memcpy(bytes, data, size);
    bytes[size] = '\0';
    gordian_status status = training_take(job, 0, bytes, size, &error);
    if (status == GORDIAN_OK) {
        status = training_take(job, 1, other_dump, sizeof other_dump - 1, &error);
        DEMAND(status == GORDIAN_OK, "%s", error.message);
        judge_job(job);
    } else {
        DEMAND(status == GORDIAN_STATUS_INPUT, "status %d: %s", status, error.message);
        DEMAND(error.message[0], "refused without a word");
    }
    training_close(job);
    free(bytes);
    return 0;
}
