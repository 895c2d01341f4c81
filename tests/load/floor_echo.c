/* The floor of a request: a bare server on libuv that reads frames, looks up one row and answers,
 * without protocol, groups or log. What heartbeats cost rosterd is judged against it.
 *
 *     floor_echo PORT [REPLY_BYTES]
 *
 * As a coordinator must, it hashes the request's ids and touches one line of a table larger than
 * the caches. The answer repeats the correlation id; its other bytes are zero, which is a
 * successful Heartbeat (16 bytes, the default) or OffsetCommit (37). All answers to what one read
 * brought leave in one write. */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum {
    ROWS = 131072,
    HEADER_BYTES = 12, /* size, API and version, correlation id */
    REPLY_BYTES_MIN = 8,
    REPLY_BYTES_MAX = 64,
    INPUT_BYTES = 65536,
    OUTPUT_BYTES = INPUT_BYTES / HEADER_BYTES * REPLY_BYTES_MAX,
};

struct row {
    _Alignas(64) uint64_t key;
    uint64_t deadline_ms;
    uint64_t beats;
};

struct client {
    uv_tcp_t tcp;
    size_t len;
    uint8_t input[INPUT_BYTES];
};

static struct row rows[ROWS];
static uint8_t output[OUTPUT_BYTES];
static size_t reply_bytes = 16;
static uv_loop_t *loop;

static uint64_t hash(const uint8_t *data, size_t len)
{
    uint64_t h = UINT64_C(0x9E3779B97F4A7C15);
    for (; len >= 8; data += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, data, 8);
        h = (h ^ word) * UINT64_C(0xFF51AFD7ED558CCD);
        h ^= h >> 32;
    }
    for (; len > 0; data++, len--) {
        h = (h ^ *data) * UINT64_C(0x100000001B3);
    }
    return h ^ (h >> 29);
}

static void answer(const uint8_t *request, size_t len, uint8_t *reply)
{
    uint64_t key = hash(request + HEADER_BYTES, len - HEADER_BYTES);
    struct row *row = &rows[key % ROWS];
    row->key = key;
    row->deadline_ms = uv_now(loop) + 45000;
    row->beats++;
    memset(reply, 0, reply_bytes);
    reply[3] = (uint8_t)(reply_bytes - 4);
    memcpy(reply + 4, request + 8, 4);
}

/* Bytes of the frame at [data], 0: not all there yet, -1: none. */
static long frame_bytes(const uint8_t *data, size_t len)
{
    uint32_t size;
    if (len < HEADER_BYTES) {
        return 0;
    }
    memcpy(&size, data, sizeof size);
    size_t total = (size_t)ntohl(size) + 4;
    if (total < HEADER_BYTES || total > INPUT_BYTES) {
        return -1;
    }
    return total <= len ? (long)total : 0;
}

static void on_close(uv_handle_t *handle)
{
    free(handle);
}

static void on_write(uv_write_t *write, int status)
{
    (void)status;
    free(write);
}

static void send_output(uv_stream_t *stream, size_t len)
{
    uv_buf_t buf = uv_buf_init((char *)output, (unsigned)len);
    int sent = uv_try_write(stream, &buf, 1);
    size_t done = sent > 0 ? (size_t)sent : 0;
    if (done == len) {
        return;
    }
    uv_write_t *write = malloc(sizeof *write + len - done);
    if (write == NULL) {
        abort();
    }
    memcpy(write + 1, output + done, len - done);
    buf = uv_buf_init((char *)(write + 1), (unsigned)(len - done));
    if (uv_write(write, stream, &buf, 1, on_write) != 0) {
        free(write);
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    struct client *client = (struct client *)handle;
    *buf = uv_buf_init((char *)client->input + client->len,
                       (unsigned)(sizeof client->input - client->len));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    (void)buf;
    struct client *client = (struct client *)stream;
    if (count < 0) {
        uv_close((uv_handle_t *)stream, on_close);
        return;
    }
    client->len += (size_t)count;
    size_t at = 0;
    size_t out = 0;
    long frame;
    while ((frame = frame_bytes(client->input + at, client->len - at)) > 0) {
        answer(client->input + at, (size_t)frame, output + out);
        at += (size_t)frame;
        out += reply_bytes;
    }
    memmove(client->input, client->input + at, client->len - at);
    client->len -= at;
    if (out > 0) {
        send_output(stream, out);
    }
    if (frame < 0) {
        uv_close((uv_handle_t *)stream, on_close);
    }
}

static void on_connection(uv_stream_t *server, int status)
{
    if (status != 0) {
        return;
    }
    struct client *client = malloc(sizeof *client);
    if (client == NULL) {
        abort();
    }
    client->len = 0;
    uv_tcp_init(loop, &client->tcp);
    if (uv_accept(server, (uv_stream_t *)&client->tcp) != 0) {
        uv_close((uv_handle_t *)&client->tcp, on_close);
        return;
    }
    uv_tcp_nodelay(&client->tcp, 1);
    uv_read_start((uv_stream_t *)&client->tcp, on_alloc, on_read);
}

static bool parse(int argc, char **argv, int *port)
{
    if (argc < 2 || argc > 3) {
        return false;
    }
    *port = (int)strtol(argv[1], NULL, 10);
    if (argc == 3) {
        reply_bytes = (size_t)strtoul(argv[2], NULL, 10);
    }
    return *port > 0 && *port < 65536 && reply_bytes >= REPLY_BYTES_MIN &&
           reply_bytes <= REPLY_BYTES_MAX;
}

int main(int argc, char **argv)
{
    int port;
    if (!parse(argc, argv, &port)) {
        fprintf(stderr, "usage: floor_echo PORT [REPLY_BYTES]\n");
        return 2;
    }
    loop = uv_default_loop();
    uv_tcp_t server;
    struct sockaddr_in address;
    uv_tcp_init(loop, &server);
    uv_ip4_addr("127.0.0.1", port, &address);
    int error = uv_tcp_bind(&server, (const struct sockaddr *)&address, 0);
    if (error == 0) {
        error = uv_listen((uv_stream_t *)&server, 4096, on_connection);
    }
    if (error != 0) {
        fprintf(stderr, "floor_echo: port %d: %s\n", port, uv_strerror(error));
        return 1;
    }
    return uv_run(loop, UV_RUN_DEFAULT);
}
