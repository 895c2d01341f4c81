/* An Ethernet switch in a process: TAP devices in, TAP devices out, and between each two of them,
 * in each direction, whatever a rule says (link.h).
 *
 *   chaosnet SOCKET SEED NAME...
 *
 * makes a TAP device for each NAME, in the network namespace it was started in, prints "ready" and
 * switches; a device may then be moved into another namespace. The n-th device (from 0) is expected
 * to have the address 02:00:00:00:00:<n + 1>, which is set here. Commands (control.h), where FROM
 * and TO are names separated by commas, or *:
 *
 *   set FROM TO KEY=VALUE...   adds to the rules of each direction from FROM to TO
 *   clear FROM TO              no rule; what is held, delayed or queued goes out at once, in order
 *   stat FROM TO               a line of counters for each direction that has seen a frame
 *
 * Single-threaded; a command and its effect are one moment to the frames. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "jepsen/lab/control.h"
#include "jepsen/net/frames.h"
#include "jepsen/net/link.h"
#include "rpc/ensure.h"

enum {
    PORTS_MAX = 64,
    FRAME_MAX = 65536,
    TURN_FRAMES_MAX = 64, /* of one port before the others have their turn */
    EVENTS_MAX = 16,
    MAC_LEN = 6,
};

enum { SOURCE_TIMER = PORTS_MAX, SOURCE_CONTROL };

struct port {
    char name[IFNAMSIZ];
    int fd;
};

struct net {
    struct port ports[PORTS_MAX];
    size_t ports_count;
    struct link links[PORTS_MAX * PORTS_MAX]; /* from * PORTS_MAX + to */
    struct frames frames;
    uint64_t chance;
    int timer;
    int control;
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

/* Frames */

/* A device that is down or whose queue is full loses it, as on any wire. */
static void deliver(struct net *net, size_t to, const uint8_t *bytes, size_t len)
{
    ssize_t n = write(net->ports[to].fd, bytes, len);
    (void)n;
}

static void pass(struct net *net, size_t from, size_t to, uint8_t *bytes, size_t len)
{
    uint32_t at = (uint32_t)(from * PORTS_MAX + to);
    struct link *link = &net->links[at];
    struct link_copy copies[LINK_COPIES_MAX];
    uint64_t now = now_ns();
    size_t count = link_decide(link, len, now, &net->chance, copies);
    for (size_t i = 0; i < count; i++) {
        bytes[copies[i].corrupt_at] ^= copies[i].corrupt_xor;
        if (copies[i].fate == LINK_HELD) {
            link_hold(link, bytes, len);
        } else if (copies[i].fate == LINK_DUE && copies[i].due_ns <= now) {
            deliver(net, to, bytes, len);
        } else if (copies[i].fate == LINK_DUE) {
            frames_put(&net->frames, copies[i].due_ns, at, bytes, len);
        }
        bytes[copies[i].corrupt_at] ^= copies[i].corrupt_xor;
    }
}

static void switch_frame(struct net *net, size_t from, uint8_t *bytes, size_t len)
{
    static const uint8_t ours[MAC_LEN - 1] = {2, 0, 0, 0, 0};
    if (len < LINK_PROTECTED_BYTES) {
        return;
    }
    if (memcmp(bytes, ours, sizeof ours) == 0) {
        size_t to = (size_t)bytes[MAC_LEN - 1] - 1;
        if (to < net->ports_count && to != from) {
            pass(net, from, to, bytes, len);
        }
        return;
    }
    for (size_t to = 0; to < net->ports_count; to++) {
        if (to != from) {
            pass(net, from, to, bytes, len);
        }
    }
}

static void read_port(struct net *net, size_t from)
{
    static uint8_t bytes[FRAME_MAX];
    for (int i = 0; i < TURN_FRAMES_MAX; i++) {
        ssize_t n = read(net->ports[from].fd, bytes, sizeof bytes);
        if (n <= 0) {
            return;
        }
        switch_frame(net, from, bytes, (size_t)n);
    }
}

static void send_due(struct net *net)
{
    struct frame frame;
    uint64_t now = now_ns();
    while (frames_take(&net->frames, now, &frame)) {
        deliver(net, frame.link % PORTS_MAX, frame.bytes, frame.len);
        free(frame.bytes);
    }
    uint64_t next = frames_next_ns(&net->frames);
    struct itimerspec at = {.it_value = {.tv_sec = 0}};
    if (next != UINT64_MAX) {
        at.it_value.tv_sec = (time_t)(next / 1000000000U);
        at.it_value.tv_nsec = (long)(next % 1000000000U);
    }
    timerfd_settime(net->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

/* Commands */

static bool is_named(const char *list, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = list; *at != '\0';) {
        size_t word_len = strcspn(at, ",");
        if ((word_len == 1 && *at == '*') || (word_len == len && memcmp(at, name, len) == 0)) {
            return true;
        }
        at += at[word_len] == ',' ? word_len + 1 : word_len;
    }
    return false;
}

static bool are_known(const struct net *net, const char *list)
{
    for (const char *at = list; *at != '\0';) {
        size_t len = strcspn(at, ",");
        bool is_known = len == 1 && *at == '*';
        for (size_t i = 0; i < net->ports_count; i++) {
            const char *name = net->ports[i].name;
            is_known |= strlen(name) == len && memcmp(name, at, len) == 0;
        }
        if (!is_known) {
            return false;
        }
        at += at[len] == ',' ? len + 1 : len;
    }
    return *list != '\0';
}

/* Sets all keys of [words], or none if one of them is wrong. */
static bool set_rule(struct link_rule *rule, const char *words)
{
    char copy[CONTROL_LINE_MAX];
    snprintf(copy, sizeof copy, "%s", words);
    char *rest = copy;
    for (char *word = control_word(&rest); word != NULL; word = control_word(&rest)) {
        char *value = strchr(word, '=');
        if (value == NULL) {
            return false;
        }
        *value = '\0';
        if (!link_set(rule, word, value + 1)) {
            return false;
        }
    }
    return true;
}

static void send_held(struct net *net, uint32_t at)
{
    struct link *link = &net->links[at];
    const uint8_t *frame;
    size_t len;
    for (size_t next = 0; link_next_held(link, &next, &frame, &len);) {
        link->counters.delivered++;
        deliver(net, at % PORTS_MAX, frame, len);
    }
    link_forget(link);
}

static void clear(struct net *net, uint32_t at)
{
    link_clear(&net->links[at]);
    frames_hurry(&net->frames, at);
    send_due(net);
    send_held(net, at);
}

static void say_counters(const struct net *net, size_t from, size_t to, struct buf *reply)
{
    const struct link_counters *c = &net->links[from * PORTS_MAX + to].counters;
    if (c->frames > 0) {
        control_say(reply,
                    "%s %s frames=%llu bytes=%llu delivered=%llu dropped=%llu lost=%llu "
                    "duplicated=%llu reordered=%llu corrupted=%llu held=%llu overflowed=%llu\n",
                    net->ports[from].name, net->ports[to].name, (unsigned long long)c->frames,
                    (unsigned long long)c->bytes, (unsigned long long)c->delivered,
                    (unsigned long long)c->dropped, (unsigned long long)c->lost,
                    (unsigned long long)c->duplicated, (unsigned long long)c->reordered,
                    (unsigned long long)c->corrupted, (unsigned long long)c->held,
                    (unsigned long long)c->overflowed);
    }
}

static void act(struct net *net,
                size_t from,
                size_t to,
                char what,
                const char *words,
                struct buf *reply)
{
    uint32_t at = (uint32_t)(from * PORTS_MAX + to);
    if (what == 's') {
        bool was_held = net->links[at].rule.hold;
        set_rule(&net->links[at].rule, words);
        if (was_held && !net->links[at].rule.hold) {
            send_held(net, at);
        }
    } else if (what == 'c') {
        clear(net, at);
    } else {
        say_counters(net, from, to, reply);
    }
}

static void answer(void *ctx, char *line, struct buf *reply)
{
    struct net *net = ctx;
    const char *what = control_word(&line);
    const char *from = control_word(&line);
    const char *to = control_word(&line);
    struct link_rule trial = {.drop = false};
    bool is_set = what != NULL && strcmp(what, "set") == 0;
    bool is_known =
        is_set || (what != NULL && (strcmp(what, "clear") == 0 || strcmp(what, "stat") == 0));
    if (!is_known || to == NULL || !are_known(net, from) || !are_known(net, to) ||
        (is_set && !set_rule(&trial, line))) {
        control_say(reply, "error: set|clear|stat FROM TO [KEY=VALUE...]\n");
        return;
    }
    for (size_t i = 0; i < net->ports_count; i++) {
        for (size_t j = 0; j < net->ports_count; j++) {
            if (i != j && is_named(from, net->ports[i].name) && is_named(to, net->ports[j].name)) {
                act(net, i, j, is_set ? 's' : what[0] == 'c' ? 'c' : 'q', line, reply);
            }
        }
    }
    if (reply->len == 0) {
        control_say(reply, "ok\n");
    }
}

/* Start */

static bool open_port(struct port *port, const char *name, size_t number)
{
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    if (strlen(name) >= sizeof request.ifr_name) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(request.ifr_name, name, strlen(name) + 1);
    memcpy(port->name, name, strlen(name) + 1);
    port->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (port->fd < 0 || ioctl(port->fd, TUNSETIFF, &request) != 0) {
        return false;
    }
    int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    request.ifr_hwaddr = (struct sockaddr){.sa_family = ARPHRD_ETHER, .sa_data = {2}};
    request.ifr_hwaddr.sa_data[MAC_LEN - 1] = (char)(number + 1);
    bool is_good = any >= 0 && ioctl(any, SIOCSIFHWADDR, &request) == 0;
    close(any);
    return is_good;
}

static void watch(int poller, int fd, uint32_t source)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = source}};
    ensure(epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) == 0);
}

static void run(struct net *net)
{
    int poller = epoll_create1(EPOLL_CLOEXEC);
    ensure(poller >= 0);
    watch(poller, net->timer, SOURCE_TIMER);
    watch(poller, net->control, SOURCE_CONTROL);
    for (size_t i = 0; i < net->ports_count; i++) {
        watch(poller, net->ports[i].fd, (uint32_t)i);
    }
    for (;;) {
        struct epoll_event events[EVENTS_MAX];
        int n = epoll_wait(poller, events, EVENTS_MAX, -1);
        for (int i = 0; i < n; i++) {
            uint32_t source = events[i].data.u32;
            if (source == SOURCE_CONTROL) {
                control_serve(net->control, answer, net);
            } else if (source < net->ports_count) {
                read_port(net, source);
            }
        }
        send_due(net); /* sets the timer anew, which clears it */
    }
}

int main(int argc, char **argv)
{
    static struct net net;
    if (argc < 4 || argc - 3 > PORTS_MAX || !control_number(argv[2], UINT64_MAX, &net.chance)) {
        fprintf(stderr, "usage: chaosnet SOCKET SEED NAME... (at most %d)\n", PORTS_MAX);
        return 64;
    }
    for (int i = 3; i < argc; i++) {
        if (!open_port(&net.ports[net.ports_count], argv[i], net.ports_count)) {
            fprintf(stderr, "chaosnet: device %s: %s\n", argv[i], strerror(errno));
            return 1;
        }
        net.ports_count++;
    }
    net.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    net.control = control_listen(argv[1]);
    if (net.timer < 0 || net.control < 0) {
        fprintf(stderr, "chaosnet: %s: %s\n", argv[1], strerror(-net.control));
        return 1;
    }
    puts("ready");
    fflush(stdout);
    run(&net);
}
