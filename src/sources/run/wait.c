#include "sources/run/wait.h"

#include "foundation/base/clock.h"
#include "sources/run/handler_acts.h"
#include "sources/run/waiters.h"
