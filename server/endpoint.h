/* Addresses as people write them in the configuration.
 *
 *   endpoint    host:port, an IPv6 address in brackets        db1.example:9093  [::1]:9093
 *   listener    NAME://host:port, the host may be empty       INTERNAL://:9092
 *   peer        id@host:port                                  3@[fd00::3]:9093 */
#ifndef SERVER_ENDPOINT_H
#define SERVER_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpc/span.h"

enum { ENDPOINT_HOST_BYTES = 256, ENDPOINT_NAME_BYTES = 64 };

struct endpoint {
    char host[ENDPOINT_HOST_BYTES]; /* without brackets; "": any address */
    uint16_t port;
};

struct endpoint_listener {
    char name[ENDPOINT_NAME_BYTES]; /* letters, digits, '_', '-' */
    struct endpoint at;
};

struct endpoint_peer {
    uint64_t id;
    struct endpoint at;
};

/* Each returns NULL, or what is wrong with [text], for the operator. An empty host is accepted by
 * endpoint_parse() and endpoint_parse_listener(). */
const char *endpoint_parse(struct span text, struct endpoint *out);
const char *endpoint_parse_listener(struct span text, struct endpoint_listener *out);
const char *endpoint_parse_peer(struct span text, struct endpoint_peer *out);

/* "0.0.0.0", "::", or empty: no address that anybody could connect to. */
bool endpoint_is_any(const struct endpoint *endpoint);

/* Cuts the next item off a list separated by commas, without the blanks around it. False: none is
 * left. What is empty between two commas is an item; behind the last comma it is none. */
bool endpoint_next_item(struct span *list, struct span *item);

#endif
