/* A new leader's look at every group (R1). */
#ifndef SERVER_CORE_TAKEOVER_H
#define SERVER_CORE_TAKEOVER_H

struct coordinator;

/* From now on slices are due, while c->takeover_pending. */
void takeover_start(struct coordinator *c);
void takeover_slice(struct coordinator *c);

#endif
