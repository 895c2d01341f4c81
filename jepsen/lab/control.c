#include "jepsen/lab/control.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "rpc/ensure.h"

enum { BACKLOG = 16 };

int control_listen(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        return -ENAMETOOLONG;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -errno;
    }
    unlink(path);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, BACKLOG) != 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

static bool read_line(int fd, char line[CONTROL_LINE_MAX])
{
    size_t len = 0;
    while (len < CONTROL_LINE_MAX) {
        ssize_t n = read(fd, line + len, CONTROL_LINE_MAX - len);
        if (n <= 0) {
            return false;
        }
        char *end = memchr(line + len, '\n', (size_t)n);
        len += (size_t)n;
        if (end != NULL) {
            *end = '\0';
            return true;
        }
    }
    return false;
}

static void write_all(int fd, const struct buf *reply)
{
    for (size_t at = 0; at < reply->len;) {
        ssize_t n = send(fd, reply->data + at, reply->len - at, MSG_NOSIGNAL);
        if (n <= 0) {
            return;
        }
        at += (size_t)n;
    }
}

void control_serve(int listener,
                   void (*answer)(void *ctx, char *line, struct buf *reply),
                   void *ctx)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) {
        return;
    }
    struct timeval patience = {.tv_sec = CONTROL_PATIENCE_MS / 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    char line[CONTROL_LINE_MAX];
    if (read_line(fd, line)) {
        struct buf reply = BUF_EMPTY;
        answer(ctx, line, &reply);
        write_all(fd, &reply);
        buf_close(&reply);
    }
    close(fd);
}

void control_say(struct buf *reply, const char *format, ...)
{
    char text[1024];
    va_list more;
    va_start(more, format);
    int n = vsnprintf(text, sizeof text, format, more);
    va_end(more);
    ensure(n >= 0 && (size_t)n < sizeof text);
    buf_append(reply, text, (size_t)n);
}

char *control_word(char **line)
{
    char *word = *line + strspn(*line, " ");
    if (*word == '\0') {
        return NULL;
    }
    char *end = word + strcspn(word, " ");
    *line = *end == '\0' ? end : end + 1;
    *end = '\0';
    return word;
}

bool control_number(const char *word, uint64_t max, uint64_t *out)
{
    if (word == NULL || *word < '0' || *word > '9') {
        return false;
    }
    char *end;
    errno = 0;
    unsigned long long value = strtoull(word, &end, 10);
    if (errno != 0 || *end != '\0' || value > max) {
        return false;
    }
    *out = value;
    return true;
}
