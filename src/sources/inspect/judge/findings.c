#include "sources/inspect/judge/judge.h"

void findings_open(struct inspect_findings *findings)
{
    *findings = (struct inspect_findings){.memory = memory_allocator(NULL)};
}

static void free_finding(struct inspect_findings *findings, const struct inspect_finding *finding)
{
    memory_free_all(&findings->memory, finding->edges, finding->members, finding->behind);
}

void findings_clear(struct inspect_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        free_finding(findings, &findings->list[i]);
    findings->count = 0;
}

void findings_close(struct inspect_findings *findings)
{
    findings_clear(findings);
    memory_free(&findings->memory, findings->list);
    *findings = (struct inspect_findings){0};
}

void findings_acquit(struct inspect_findings *findings, const struct process_snapshot *snapshot)
{
    size_t kept = 0;
    for (size_t i = 0; i < findings->count; i++) {
        struct inspect_finding finding = findings->list[i];
        bool stands = true;
        for (size_t k = 0; k < finding.member_count && finding.word == WORD_LIKELY; k++)
            stands = stands && snapshot_thread(snapshot, finding.members[k])->is.steady;
        if (stands)
            findings->list[kept++] = finding;
        else
            free_finding(findings, &finding);
    }
    findings->count = kept;
}
