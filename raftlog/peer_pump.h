/* Carries a peer's messages to the library: TCP -> checks (frame.h) -> a socket pair whose far end
 * the library reads as if it were the connection. It holds at most one AppendEntries or one frame
 * of a snapshot, and stops reading while the library is behind. */
#ifndef RAFTLOG_PEER_PUMP_H
#define RAFTLOG_PEER_PUMP_H

#include <uv.h>

#include "raftlog/peer_frame.h"

enum { PEER_PUMP_BEHIND_BYTES_MAX = 1 << 20, PEER_PUMP_READ_BYTES = 65536 };

struct peer_pump;

/* [reason]: a libuv error's or a frame error's text; [error] is the latter. The pump frees itself
 * after this call. */
typedef void (*peer_pump_ended_cb)(void *ctx,
                                   uint64_t peer_id,
                                   enum peer_frame_error error,
                                   const char *reason);

/* Takes over [tcp]. [*far] (allocated with raft_malloc()) is for the library, which closes it.
 * NULL, and [tcp] is closed, if there are no descriptors left. */
struct peer_pump *peer_pump_start(uv_tcp_t *tcp,
                                  uint64_t peer_id,
                                  struct span configuration,
                                  struct span leftover,
                                  uv_stream_t **far,
                                  peer_pump_ended_cb ended,
                                  void *ctx);

/* Ends it; [ended] is called later. */
void peer_pump_stop(struct peer_pump *pump, const char *reason);

#endif
