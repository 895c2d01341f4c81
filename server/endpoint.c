#include "server/endpoint.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Where [c] is first; text.len: nowhere. */
static size_t find(struct span text, char c)
{
    const uint8_t *at = text.len == 0 ? NULL : memchr(text.data, c, text.len);
    return at == NULL ? text.len : (size_t)(at - text.data);
}

static struct span head(struct span text, size_t len)
{
    return span_of(text.data, len);
}

static struct span tail(struct span text, size_t from)
{
    return span_of(text.data + from, text.len - from);
}

static bool parse_number(struct span text, uint64_t max, uint64_t *out)
{
    uint64_t value = 0;
    if (text.len == 0 || text.len > 10) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        value = value * 10 + (uint64_t)(text.data[i] - '0');
    }
    *out = value;
    return value >= 1 && value <= max;
}

static bool is_host(struct span host, const char *marks)
{
    for (size_t i = 0; i < host.len; i++) {
        if (!isalnum(host.data[i]) && strchr(marks, host.data[i]) == NULL) {
            return false;
        }
    }
    return true;
}

const char *endpoint_parse(struct span text, struct endpoint *out)
{
    struct span host;
    struct span port;
    const char *marks = ".-_";
    if (text.len > 0 && text.data[0] == '[') {
        size_t close = find(text, ']');
        if (close == text.len) {
            return "a bracket is not closed";
        }
        host = span_of(text.data + 1, close - 1);
        port = tail(text, close + 1);
        marks = ".:%-_";
    } else {
        host = head(text, find(text, ':'));
        port = tail(text, host.len);
        if (port.len > 0 && find(tail(port, 1), ':') != port.len - 1) {
            return "an IPv6 address needs brackets, as in [::1]:9092";
        }
    }
    uint64_t number;
    if (port.len == 0 || port.data[0] != ':') {
        return "the port is missing; write host:port";
    }
    if (!parse_number(tail(port, 1), UINT16_MAX, &number)) {
        return "the port is not a number from 1 to 65535";
    }
    if (!is_host(host, marks) || host.len >= sizeof out->host) {
        return "the host is neither a name nor an address";
    }
    memcpy(out->host, host.data, host.len);
    out->host[host.len] = '\0';
    out->port = (uint16_t)number;
    return NULL;
}

const char *endpoint_parse_listener(struct span text, struct endpoint_listener *out)
{
    struct span name = head(text, find(text, ':'));
    struct span rest = tail(text, name.len);
    if (rest.len < 3 || memcmp(rest.data, "://", 3) != 0) {
        return "write NAME://host:port";
    }
    if (name.len == 0 || name.len >= sizeof out->name || !is_host(name, "_-")) {
        return "a listener's name is made of letters, digits, '_' and '-'";
    }
    memcpy(out->name, name.data, name.len);
    out->name[name.len] = '\0';
    return endpoint_parse(tail(rest, 3), &out->at);
}

const char *endpoint_parse_peer(struct span text, struct endpoint_peer *out)
{
    size_t at = find(text, '@');
    if (at == text.len) {
        return "write id@host:port";
    }
    if (!parse_number(head(text, at), INT32_MAX, &out->id)) {
        return "the id before '@' is not a number from 1 to 2147483647";
    }
    const char *wrong = endpoint_parse(tail(text, at + 1), &out->at);
    if (wrong != NULL) {
        return wrong;
    }
    return endpoint_is_any(&out->at) ? "a peer needs a host that others can connect to" : NULL;
}

bool endpoint_is_any(const struct endpoint *endpoint)
{
    return endpoint->host[0] == '\0' || strcmp(endpoint->host, "0.0.0.0") == 0 ||
           strcmp(endpoint->host, "::") == 0;
}

static struct span trim(struct span text)
{
    while (text.len > 0 && isspace(text.data[0])) {
        text = tail(text, 1);
    }
    while (text.len > 0 && isspace(text.data[text.len - 1])) {
        text.len--;
    }
    return text;
}

bool endpoint_next_item(struct span *list, struct span *item)
{
    if (span_is_null(*list) || trim(*list).len == 0) {
        return false;
    }
    size_t comma = find(*list, ',');
    *item = trim(head(*list, comma));
    *list = comma == list->len ? SPAN_NULL : tail(*list, comma + 1);
    return true;
}
