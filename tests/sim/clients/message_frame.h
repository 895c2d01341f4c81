/* A message on the wire: the frame of its request, the body of its reply. */
#ifndef TESTS_SIM_CLIENTS_MESSAGE_FRAME_H
#define TESTS_SIM_CLIENTS_MESSAGE_FRAME_H

#include "rpc/reader.h"
#include "tests/sim/clients/lane.h"

/* Appends prefix, header and body. */
void message_frame(const struct message *message, struct buf *frame);
/* The reader is behind the correlation id. Where the node's coordinator made the reply these must
 * be its very bytes. */
void *message_read_reply(struct life *life, struct message *message, struct reader *reader);

#endif
