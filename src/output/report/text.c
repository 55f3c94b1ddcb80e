/* Prints a report as text. */
#include "output/report/report.h"

/* Prints how often each incident recurred after it was reported. */
static void write_summary(const struct report *report, struct output *out)
{
    for (size_t i = 0; i < report->fold_count; i++) {
        const struct incident_fold *fold = &report->folds[i];
        if (fold->count <= 1)
            continue;
        const char *kind = fold->kind == INCIDENT_POTENTIAL ? "potential deadlock"
                           : fold->kind == INCIDENT_STALL   ? "stall"
                                                            : "deadlock";
        output_format(out, "gordian: %s (incident %u of process %u) occurred %llu times%s\n", kind,
                      fold->number, report->head.pid, (unsigned long long)fold->count,
                      fold->suppressed ? ", suppressed" : "");
    }
}

void report_text(const struct report *report, const struct finding_look *look, unsigned ordinal,
                 struct output *out)
{
    struct finding finding;
    if (report->head.kind == INCIDENT_SUMMARY) {
        write_summary(report, out);
    } else if (report->head.kind >= INCIDENT_DEADLOCK && report->head.kind < INCIDENT_SUMMARY) {
        report_finding(&finding, report, ordinal);
        finding_text(&finding, look, out);
        finding_close(&finding);
    }
}
