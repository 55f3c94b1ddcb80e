#pragma once

/* Prints the report of last resort from a written incident: numbers only. */
void plain_report(int fd);
/* The same for the incident in the mailbox. */
void plain_report_mailbox(void);
