/* Telling a report everywhere it is to be told: as text, to files, to a hook. */
#pragma once

#include "cli/base/cli.h"
#include "output/report/session.h"

struct products {
    const char *output, *json, *dot, *svg, *trace;
};

/* The command's own options travel in variables. */
void export_report_settings(struct cli *cli);
/* The value of a variable that names a file; NULL: none. */
const char *report_path(const char *name);

struct finding_look report_look_of(const struct cli *cli, int fd, char *folder, size_t size);

/* The report itself in one piece, so that it does not mix with what others write. */
bool print_report_text(struct cli *cli, const struct report *report,
                       const struct products *products, const struct session_number *number);
/* The files that were asked for. */
void write_report_files(struct cli *cli, const struct report *report,
                        const struct products *products, const struct session_number *number);

/* One more line of a file that has a report a line. */
void append_report_line(struct cli *cli, const char *path, struct output *text);

/* Tells it everywhere it is to be told: false if that failed. A hook sees an actual deadlock while
 * it stands: `answer` (NULL: none) is then called after it, with `reported` or INCIDENT_FAILED. */
bool deliver_report(struct cli *cli, const struct report *report, struct session *session,
                    void (*answer)(enum incident_answer what), enum incident_answer reported);

/* Does a line of the suppressions take the report? It is counted. */
bool is_suppressed_report(struct cli *cli, const struct report *report, struct session *session);
