/* Messages of the library on stderr, unless GORDIAN_QUIET is set. */
#pragma once

/* Prints a notice. */
void watch_note(const char *text);

/* Prints "not watching: " and the reason. */
void watch_refuse(const char *why);

/* Switches the watcher off for good, with one message. The program continues. */
void watch_off(const char *why);
