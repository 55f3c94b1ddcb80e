/* All threads, for status reports and stalls. */
#pragma once

#include "sources/run/report/incident_builder.h"

/* Adds all threads with their waits and holds. */
void survey_threads(struct incident_builder *builder);
