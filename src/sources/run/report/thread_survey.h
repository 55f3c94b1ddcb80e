/* Everybody, whatever they do: for status reports and stalls. */
#ifndef GORDIAN_SOURCES_RUN_REPORT_THREAD_SURVEY_H
#define GORDIAN_SOURCES_RUN_REPORT_THREAD_SURVEY_H

#include "sources/run/report/incident_builder.h"

/* Every thread, what it waits for and what it holds. */
void survey_threads(struct incident_builder *builder);

#endif
