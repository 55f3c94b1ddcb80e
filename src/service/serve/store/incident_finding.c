#include "service/serve/store/incident_finding.h"

#include "output/finding/from_witness.h"

#include <string.h>

bool incident_finding(struct finding *finding, struct parsed_witness *parsed,
                      const struct incident *incident)
{
    const char *witness = incident->witness ? incident->witness : "";
    const char *first = incident->requester ? incident->requester : "";
    struct arena arena;
    finding_open(finding, "serve", FINDING_DEADLOCK, FINDING_PROVED);
    parsed_witness_init(parsed);
    bool done = parsed_witness_read(parsed, service_json_parse(&arena, witness, strlen(witness)));
    arena_free(&arena);
    if (!done || !finding_from_witness(finding, "serve", 0, &parsed->labels, &parsed->witness))
        return false;
    finding->time_ms = incident->at;
    for (uint32_t i = 0; i < finding->party_count; i++)
        if (strcmp(finding->parties[i].name, first) == 0)
            finding->first = i;
    return true;
}

void incident_finding_json(struct json *json, const struct incident *incident)
{
    struct parsed_witness parsed;
    struct finding finding;
    if (incident_finding(&finding, &parsed, incident))
        finding_json_member(&finding, json, "finding");
    finding_close(&finding);
    parsed_witness_free(&parsed);
}
