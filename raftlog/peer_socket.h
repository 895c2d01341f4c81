/* Options of the connections between peers. */
#ifndef RAFTLOG_PEER_SOCKET_H
#define RAFTLOG_PEER_SOCKET_H

#include <uv.h>

enum {
    PEER_SOCKET_USER_TIMEOUT_MS =
        2500, /* unacknowledged bytes for so long: the connection is dead */
    PEER_SOCKET_KEEPALIVE_IDLE_S = 2
};

/* A new handle, allocated with malloc(). */
uv_tcp_t *peer_socket_new(uv_loop_t *loop);

/* Closes and frees one. */
void peer_socket_close(uv_tcp_t *tcp);

/* No Nagle delay (40 ms stalls with delayed acks), and a dead peer is noticed within seconds: the
 * library never reads from its outgoing connections. */
void peer_socket_tune(uv_tcp_t *tcp);

#endif
