/* What coordinator.c needs of leadership.c; its inputs stand in coordinator.h. */
#ifndef SERVER_CORE_LEADERSHIP_H
#define SERVER_CORE_LEADERSHIP_H

#include <stdint.h>

struct coordinator;

/* Tries again for a barrier that the log had no room for. */
void leadership_tick(struct coordinator *c);
int64_t leadership_next_deadline(const struct coordinator *c);

#endif
