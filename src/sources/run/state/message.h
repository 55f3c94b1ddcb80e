/* What the library itself has to say, on stderr, unless GORDIAN_QUIET. */
#pragma once

/* A notice. */
void watch_note(const char *text);

/* "not watching: " and the reason. */
void watch_refuse(const char *why);

/* Switches the watcher off for good, with one message. The program goes on. */
void watch_off(const char *why);
