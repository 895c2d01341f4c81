#include "raftlog/peer_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "rpc/ensure.h"

uv_tcp_t *peer_socket_new(uv_loop_t *loop)
{
    uv_tcp_t *tcp = malloc(sizeof *tcp);
    ensure(tcp != NULL);
    ensure(uv_tcp_init(loop, tcp) == 0);
    return tcp;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

void peer_socket_close(uv_tcp_t *tcp)
{
    uv_close((uv_handle_t *)tcp, free_handle);
}

void peer_socket_tune(uv_tcp_t *tcp)
{
    uv_os_fd_t fd = -1;
    if (uv_fileno((const uv_handle_t *)tcp, &fd) != 0) {
        return;
    }
    unsigned timeout_ms = PEER_SOCKET_USER_TIMEOUT_MS;
    uv_tcp_nodelay(tcp, 1);
    uv_tcp_keepalive(tcp, 1, PEER_SOCKET_KEEPALIVE_IDLE_S);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
}
