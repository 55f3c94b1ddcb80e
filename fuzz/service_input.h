/* Any bytes to a service without sockets, in pieces of uneven size. Whatever they do to it,
 * applying its journal again must lead to the same state. */
#ifndef GORDIAN_FUZZ_SERVICE_INPUT_H
#define GORDIAN_FUZZ_SERVICE_INPUT_H

#include "fuzz.h"

struct fuzz_service;

struct fuzz_service *fuzz_service_open(void);
/* Hands bytes to the first client; they are put behind what it has not used yet. */
void fuzz_service_give(struct fuzz_service *service, const void *bytes, size_t count);
/* Lets the leases end, compares with a replay, and frees everything. */
void fuzz_service_close(struct fuzz_service *service);

#endif
