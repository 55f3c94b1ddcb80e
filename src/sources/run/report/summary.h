/* The summary at the end of the program. */
#pragma once

/* Reports findings that were repeated after their report, and updates the tally. */
void summary_report(void);
