/* The floor of a durable commit: a bare group commit over three processes, without protocol, Raft
 * or state. What commits cost rosterd is judged against it.
 *
 *     floor_commit follower FILE PORT
 *     floor_commit leader FILE PORT FOLLOWER_PORT FOLLOWER_PORT
 *
 * The leader takes every request that is readable, sends the batch to both followers, writes it to
 * its own file and answers when it and one follower have it on disk. Files are zero-filled before
 * and written with O_DIRECT and O_DSYNC, which is the fastest way to be durable. A reply is 37
 * bytes, as OffsetCommit's for one partition, but says nothing: a list of no topics. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    FILE_BYTES = 64 << 20,
    BLOCK_BYTES = 4096,
    BATCH_BYTES = 8 << 20,
    INPUT_BYTES = 16384,
    TURN_MAX =
        BATCH_BYTES / INPUT_BYTES, /* clients of one turn: what they send fits into a batch */
    HEADER_BYTES = 12,
    REPLY_BYTES = 37,
    REPLIES_MAX = INPUT_BYTES / HEADER_BYTES,
    NO_TOPICS_AT = 13, /* in the reply: 1 is a list without elements */
    FOLLOWERS = 2,
};

struct client {
    int fd;
    size_t len;
    size_t pending;
    uint8_t input[INPUT_BYTES];
    uint32_t correlation_ids[REPLIES_MAX];
};

struct disk {
    int fd;
    off_t at;
};

static uint8_t *batch; /* aligned for O_DIRECT */

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void wait_for(int fd, short events)
{
    struct pollfd poll_fd = {.fd = fd, .events = events};
    poll(&poll_fd, 1, -1);
}

static void read_all(int fd, void *to, size_t len)
{
    for (uint8_t *at = to; len > 0;) {
        ssize_t count = read(fd, at, len);
        if (count <= 0) {
            exit(0); /* the other side ended */
        }
        at += count;
        len -= (size_t)count;
    }
}

/* False: the peer is gone. */
static bool write_all(int fd, const void *from, size_t len)
{
    for (const uint8_t *at = from; len > 0;) {
        ssize_t count = send(fd, at, len, MSG_NOSIGNAL);
        if (count < 0 && errno == EAGAIN) {
            wait_for(fd, POLLOUT);
            continue;
        }
        if (count < 0) {
            return false;
        }
        at += count;
        len -= (size_t)count;
    }
    return true;
}

static struct sockaddr_in local_address(const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static void set_nodelay(int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static int listen_on(const char *port)
{
    int one = 1;
    struct sockaddr_in address = local_address(port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 4096) != 0) {
        fail(port);
    }
    return fd;
}

static int connect_to(const char *port)
{
    struct sockaddr_in address = local_address(port);
    for (;;) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
            set_nodelay(fd);
            return fd;
        }
        close(fd);
        usleep(50000); /* it has not started yet */
    }
}

static struct disk open_disk(const char *path)
{
    static uint8_t zeros[1 << 20];
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    for (size_t done = 0; fd >= 0 && done < FILE_BYTES; done += sizeof zeros) {
        if (write(fd, zeros, sizeof zeros) != (ssize_t)sizeof zeros) {
            fail(path);
        }
    }
    if (fd < 0 || fsync(fd) != 0) {
        fail(path);
    }
    close(fd);
    fd = open(path, O_RDWR | O_DSYNC | O_DIRECT);
    if (fd < 0) {
        fail(path);
    }
    return (struct disk){.fd = fd};
}

static void write_batch(struct disk *disk, size_t len)
{
    size_t rounded = (len + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
    if (disk->at + (off_t)rounded > FILE_BYTES) {
        disk->at = 0;
    }
    if (pwrite(disk->fd, batch, rounded, disk->at) != (ssize_t)rounded) {
        fail("pwrite");
    }
    disk->at += (off_t)rounded;
}

/* ---- The follower ---- */

static _Noreturn void follow(struct disk disk, const char *port)
{
    int listener = listen_on(port);
    int fd = accept(listener, NULL, NULL);
    set_nodelay(fd);
    for (;;) {
        uint32_t len;
        read_all(fd, &len, sizeof len);
        read_all(fd, batch, len);
        write_batch(&disk, len);
        if (!write_all(fd, &len, sizeof len)) {
            exit(0);
        }
    }
}

/* ---- The leader ---- */

static void accept_client(int listener, int epoll)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    struct client *client = fd < 0 ? NULL : malloc(sizeof *client);
    if (client == NULL) {
        return;
    }
    set_nodelay(fd);
    client->fd = fd;
    client->len = 0;
    client->pending = 0;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Moves the client's whole requests to the batch; returns its new length. */
static size_t take_requests(struct client *client, size_t batch_len)
{
    size_t at = 0;
    while (client->len - at >= HEADER_BYTES) {
        uint32_t size;
        memcpy(&size, client->input + at, sizeof size);
        size_t total = (size_t)ntohl(size) + 4;
        if (total < HEADER_BYTES || total > client->len - at) {
            break;
        }
        memcpy(&client->correlation_ids[client->pending++], client->input + at + 8, 4);
        at += total;
    }
    memcpy(batch + batch_len, client->input, at);
    memmove(client->input, client->input + at, client->len - at);
    client->len -= at;
    return batch_len + at;
}

static size_t read_client(struct client *client, size_t batch_len)
{
    ssize_t count = read(client->fd, client->input + client->len, INPUT_BYTES - client->len);
    if (count < 0 && errno == EAGAIN) {
        return batch_len;
    }
    if (count <= 0) {
        close(client->fd);
        free(client);
        return batch_len;
    }
    client->len += (size_t)count;
    return take_requests(client, batch_len);
}

static void answer(struct client *client)
{
    static uint8_t replies[REPLIES_MAX * REPLY_BYTES];
    for (size_t i = 0; i < client->pending; i++) {
        uint8_t *reply = replies + i * REPLY_BYTES;
        memset(reply, 0, REPLY_BYTES);
        reply[3] = REPLY_BYTES - 4;
        memcpy(reply + 4, &client->correlation_ids[i], 4);
        reply[NO_TOPICS_AT] = 1;
    }
    write_all(client->fd, replies, client->pending * REPLY_BYTES);
    client->pending = 0;
}

static void wait_for_one(const int followers[FOLLOWERS], uint64_t acks[FOLLOWERS], uint64_t batches)
{
    while (acks[0] < batches && acks[1] < batches) {
        struct pollfd fds[FOLLOWERS] = {{.fd = followers[0], .events = POLLIN},
                                        {.fd = followers[1], .events = POLLIN}};
        poll(fds, FOLLOWERS, -1);
        for (int i = 0; i < FOLLOWERS; i++) {
            if (fds[i].revents != 0) {
                uint32_t ack;
                read_all(followers[i], &ack, sizeof ack);
                acks[i]++;
            }
        }
    }
}

/* Of one turn: the clients whose requests are in the batch. */
struct turn {
    struct client *waiting[TURN_MAX];
    size_t waiting_count;
    size_t len; /* of the batch */
};

static void gather(struct turn *turn,
                   const struct epoll_event *events,
                   int count,
                   int listener,
                   int epoll)
{
    turn->waiting_count = 0;
    turn->len = 0;
    for (int i = 0; i < count; i++) {
        struct client *client = events[i].data.ptr;
        if (client == NULL) {
            accept_client(listener, epoll);
            continue;
        }
        size_t before = turn->len;
        turn->len = read_client(client, before);
        if (turn->len > before) {
            turn->waiting[turn->waiting_count++] = client;
        }
    }
}

static void replicate(const int followers[FOLLOWERS], size_t len)
{
    uint32_t prefix = (uint32_t)len;
    for (int i = 0; i < FOLLOWERS; i++) {
        if (!write_all(followers[i], &prefix, sizeof prefix) ||
            !write_all(followers[i], batch, len)) {
            exit(0);
        }
    }
}

static _Noreturn void lead(struct disk disk, const char *port, const int followers[FOLLOWERS])
{
    static struct epoll_event events[TURN_MAX];
    static struct turn turn;
    uint64_t acks[FOLLOWERS] = {0};
    uint64_t batches = 0;
    int listener = listen_on(port);
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        gather(&turn, events, epoll_wait(epoll, events, TURN_MAX, -1), listener, epoll);
        if (turn.len == 0) {
            continue;
        }
        replicate(followers, turn.len);
        write_batch(&disk, turn.len);
        wait_for_one(followers, acks, ++batches);
        for (size_t i = 0; i < turn.waiting_count; i++) {
            answer(turn.waiting[i]);
        }
    }
}

int main(int argc, char **argv)
{
    bool leader = argc == 6 && strcmp(argv[1], "leader") == 0;
    bool follower = argc == 4 && strcmp(argv[1], "follower") == 0;
    if (!leader && !follower) {
        fprintf(stderr,
                "usage: floor_commit follower FILE PORT\n"
                "       floor_commit leader FILE PORT FOLLOWER_PORT FOLLOWER_PORT\n");
        return 2;
    }
    void *memory;
    if (posix_memalign(&memory, BLOCK_BYTES, BATCH_BYTES) != 0) {
        abort();
    }
    batch = memory;
    memset(batch, 0, BATCH_BYTES);
    struct disk disk = open_disk(argv[2]);
    if (follower) {
        follow(disk, argv[3]);
    }
    int followers[FOLLOWERS] = {connect_to(argv[4]), connect_to(argv[5])};
    lead(disk, argv[3], followers);
}
