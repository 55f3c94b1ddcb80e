/* A mailbox for incidents that the program cannot report itself: it has given up its privileges, or
 * may not make system calls. The mailbox is in memory shared with the command that started the
 * program (incident.h: behind the tally). The command starts the reporter. */
#pragma once

#include "foundation/records/incident.h"

#include <stdbool.h>
#include <stddef.h>

/* fd of a notice in the mailbox */
#define NOTICE_IN_MAILBOX (-2)

/* Shared with the command; NULL: none. */
void mailbox_start(struct incident_mailbox *shared);

/* Returns a buffer for an incident, which belongs to this thread until it is sent or dropped; NULL:
 * not available. */
char *mailbox_claim(size_t *room);
void mailbox_drop(void);
/* Sends the incident, and waits for the answer for a limited time. INCIDENT_FAILED: no answer; the
 * incident stays until mailbox_drop. */
enum incident_answer mailbox_send(void);
/* Returns the incident in the mailbox. */
const char *mailbox_incident(size_t *size);
