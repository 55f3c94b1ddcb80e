/* The GORDIAN_ environment variables; records/incident.h lists them. */
#pragma once

#include "sources/run/state/watch.h"

/* Copies the environment, which the program may overwrite, and fills the settings of `watch`. */
void settings_read(void);

/* Reads a variable from the copy; NULL: not set. */
const char *setting_text(const char *name);
bool setting_is(const char *name, const char *value);
uint64_t setting_number(const char *name, uint64_t otherwise);
/* Returns whether a value of LD_PRELOAD contains this library. */
bool settings_preloads(const char *value, const char *library);
/* Removes both libraries from a value. `to` has capacity for all of it, and may be the same buffer.
 */
void settings_without_us(char *to, const char *value);
/* Returns the path of the gordian command, or "". */
const char *settings_tool(void);
