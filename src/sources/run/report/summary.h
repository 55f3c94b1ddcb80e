/* At the end of the program. */
#ifndef GORDIAN_SOURCES_RUN_REPORT_SUMMARY_H
#define GORDIAN_SOURCES_RUN_REPORT_SUMMARY_H

/* Tells what came back after it was told once; adds to the tally. */
void summary_tell(void);

#endif
