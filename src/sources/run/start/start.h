/* Setting up and switching off. */
#pragma once

#include "sources/run/state/watch.h"

/* Sets the watcher up, once: by the library's constructor, or by the first wrapper that is called
 * before it. True: it is on. Afterwards `real` is filled either way. */
bool start_watching(void);
