/* How many connections each address has (max.connections.per.ip). */
#ifndef SERVER_ADDRESSES_H
#define SERVER_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* An IPv4 address is kept as its mapped IPv6 form, so that a client counts once however it came. */
struct address {
    uint8_t bytes[16];
};

/* Zeroes for what is neither IPv4 nor IPv6. */
struct address address_of(const struct sockaddr *from);

/* Kafka's text form: "/10.0.0.5", "/fd00::1". */
enum { ADDRESS_TEXT_BYTES = 48 };
void address_format(const struct address *address, char text[ADDRESS_TEXT_BYTES]);

struct addresses {
    struct addresses_entry *entries; /* open addressing, linear; count 0: free */
    size_t cap;                      /* a power of two, or 0 */
    size_t used;
};

void addresses_init(struct addresses *addresses);
void addresses_close(struct addresses *addresses);

/* One connection more; returns how many there are now. */
uint32_t addresses_add(struct addresses *addresses, const struct address *address);
void addresses_remove(struct addresses *addresses, const struct address *address);
uint32_t addresses_count(const struct addresses *addresses, const struct address *address);

#endif
