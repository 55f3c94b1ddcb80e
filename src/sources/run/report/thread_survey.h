/* Everybody, whatever they do: for status reports and stalls. */
#pragma once

#include "sources/run/report/incident_builder.h"

/* Every thread, what it waits for and what it holds. */
void survey_threads(struct incident_builder *builder);
