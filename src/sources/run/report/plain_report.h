#pragma once

/* The report of last resort, from the written incident: numbers only. */
void plain_report(int fd);
/* The same of what is in the mailbox. */
void plain_report_mailbox(void);
