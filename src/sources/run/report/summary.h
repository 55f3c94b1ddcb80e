/* At the end of the program. */
#pragma once

/* Tells what came back after it was told once; adds to the tally. */
void summary_tell(void);
