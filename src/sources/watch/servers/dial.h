/* Starts a connection in a separate thread, because both client libraries resolve the host's name
 * synchronously. No other thread may use the connection meanwhile. */
#pragma once

#include "sources/watch/servers/driver.h"

struct dial;

/* NULL: no thread could be started. */
struct dial *dial_start(struct connection *connection);
/* Returns a descriptor that becomes readable when the attempt has ended. */
int dial_descriptor(const struct dial *dial);
/* Returns the result of an attempt that has ended, and frees it. */
enum driver_progress dial_end(struct dial *dial);
/* Abandons an attempt. It frees itself when it ends. The connection is lost. */
void dial_leave(struct dial *dial);
