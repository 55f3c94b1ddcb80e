/* Converts an incident to a finding: docs/reference/findings.md. */
#pragma once

#include "output/finding/finding.h"
#include "output/show/answer_json.h"
#include "service/serve/store/incident.h"

/* Reads the witness of the incident. False: there is none, it cannot be read, or out of memory. The
 * finding borrows the names in `parsed`. Close the finding and free `parsed` in any case. */
bool incident_finding(struct finding *finding, struct parsed_witness *parsed,
                      const struct incident *incident);
/* Writes it as the member "finding" of an open object; nothing if there is no witness. */
void incident_finding_json(struct json *json, const struct incident *incident);
