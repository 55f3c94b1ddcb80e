/* Sets the watcher up, and switches it off. */
#pragma once

#include "sources/run/state/watch.h"

/* Sets the watcher up once: from the library's constructor, or from the first wrapper that runs
 * before it. True: it is on. Afterwards `real` is filled in any case. */
bool start_watching(void);
