/* Delivers a report: prints it, writes files, runs the hook. */
#pragma once

#include "cli/base/cli.h"
#include "output/report/session.h"

struct products {
    const char *output, *json, *dot, *svg, *trace;
};

/* Copies the options of the command into environment variables. */
void export_report_settings(struct cli *cli);
/* Returns the value of a variable that names a file; NULL: not set. */
const char *report_path(const char *name);

struct finding_look report_look_of(const struct cli *cli, int fd, char *folder, size_t size);

/* Prints the report with one write, so that it does not mix with other output. */
bool print_report_text(struct cli *cli, const struct report *report,
                       const struct products *products, const struct session_number *number);
/* Writes the requested files. */
void write_report_files(struct cli *cli, const struct report *report,
                        const struct products *products, const struct session_number *number);

/* Appends a line to a file. */
void append_report_line(struct cli *cli, const char *path, struct output *text);

/* Prints the report, writes its files and runs the hook. False: it could not be printed. If the
 * deadlock is actual, the hook runs before `answer` (NULL: none) is called with `reported` or
 * INCIDENT_FAILED, while the deadlock still exists. */
bool deliver_report(struct cli *cli, const struct report *report, struct session *session,
                    void (*answer)(enum incident_answer what), enum incident_answer reported);

/* Does a suppression match the report? Counts the match. */
bool is_suppressed_report(struct cli *cli, const struct report *report, struct session *session);
