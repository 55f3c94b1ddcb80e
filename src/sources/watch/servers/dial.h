/* The beginning of a connection, in a thread of its own: both libraries look the host's name up
 * there, and wait for the name server. Nobody else may use the connection meanwhile. */
#pragma once

#include "sources/watch/servers/driver.h"

struct dial;

/* NULL: there is no thread to be had. */
struct dial *dial_start(struct connection *connection);
/* Can be read once it is over. */
int dial_descriptor(const struct dial *dial);
/* It is over: what it came to. Frees it. */
enum driver_progress dial_end(struct dial *dial);
/* Nobody waits for it any more: it frees itself once it is over. The connection is lost. */
void dial_leave(struct dial *dial);
