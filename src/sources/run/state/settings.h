/* The GORDIAN_ variables; records/incident.h lists them. */
#pragma once

#include "sources/run/state/watch.h"

/* Copies the environment (the program may overwrite its own) and fills the settings of `watch`. */
void settings_read(void);

/* From the copy; NULL: not set. */
const char *setting_text(const char *name);
bool setting_is(const char *name, const char *value);
uint64_t setting_number(const char *name, uint64_t otherwise);
/* Is this library, or the one with the interposers of MPI, in a value of LD_PRELOAD? */
bool settings_preloads(const char *value, const char *library);
/* The value without both; `to` has room for all of it, and may be the same. */
void settings_without_us(char *to, const char *value);
/* The gordian command, or "". */
const char *settings_tool(void);
