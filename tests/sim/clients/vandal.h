/* Clients that send garbage: frames that are cut, altered or claim to be long, versions and keys
 * that nobody serves, requests without a reader for their replies. They name groups that nobody
 * else does, so that what they get done is nobody's business. */
#ifndef TESTS_SIM_CLIENTS_VANDAL_H
#define TESTS_SIM_CLIENTS_VANDAL_H

#include "tests/sim/life/life.h"

enum { VANDAL_HOST = WORKERS_MAX + LONERS_MAX }; /* of the first of them */

void vandals_start(struct life *life);
void vandals_close(void);

#endif
