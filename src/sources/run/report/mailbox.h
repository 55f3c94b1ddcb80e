/* Incidents for the command that started the program, where the program itself cannot have them
 * reported: it has given up its privileges, or may not make system calls. They go through memory
 * that both share (incident.h: behind the tally); the command starts the reporter. */
#pragma once

#include "foundation/records/incident.h"

#include <stdbool.h>
#include <stddef.h>

/* Where a notice's file is when it is none. */
#define NOTICE_IN_MAILBOX (-2)

/* Shared with the command; NULL: there is none. */
void mailbox_start(struct incident_mailbox *shared);

/* Room for an incident, for this thread alone until it is sent or dropped; NULL: none to be had. */
char *mailbox_claim(size_t *room);
void mailbox_drop(void);
/* Hands over what was put there, and waits for the answer, a bounded time. INCIDENT_FAILED: nobody
 * answered; the incident is still there, until mailbox_drop. */
enum incident_answer mailbox_send(void);
/* What was put there. */
const char *mailbox_incident(size_t *size);
