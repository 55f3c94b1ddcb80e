#include "sources/run/state/watch.h"

static char always_single_not;
static struct incident_tally no_tally;

struct watch watch = {.single = &always_single_not, .tally = &no_tally};

__thread struct thread *self __attribute__((tls_model("initial-exec")));
__thread bool self_aside __attribute__((tls_model("initial-exec")));
