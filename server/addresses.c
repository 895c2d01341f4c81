#include "server/addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/ensure.h"

struct addresses_entry {
    struct address address;
    uint32_t count;
};

enum { CAP_MIN = 64 };

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

struct address address_of(const struct sockaddr *from)
{
    struct address address = {{0}};
    if (from->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, from, sizeof v4);
        memcpy(address.bytes, mapped, sizeof mapped);
        memcpy(address.bytes + sizeof mapped, &v4.sin_addr, 4);
    } else if (from->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, from, sizeof v6);
        memcpy(address.bytes, &v6.sin6_addr, sizeof address.bytes);
    }
    return address;
}

void address_format(const struct address *address, char text[ADDRESS_TEXT_BYTES])
{
    bool is_v4 = memcmp(address->bytes, mapped, sizeof mapped) == 0;
    const uint8_t *bytes = address->bytes + (is_v4 ? sizeof mapped : 0);
    text[0] = '/';
    ensure(inet_ntop(is_v4 ? AF_INET : AF_INET6, bytes, text + 1, ADDRESS_TEXT_BYTES - 1) != NULL);
}

void addresses_init(struct addresses *addresses)
{
    *addresses = (struct addresses){NULL, 0, 0};
}

void addresses_close(struct addresses *addresses)
{
    free(addresses->entries);
    addresses_init(addresses);
}

/* FNV-1a. Somebody who owns enough IPv6 addresses to make them collide slows down accepting only,
 * and max.connections bounds by how much. */
static size_t place_of(const struct addresses *addresses, const struct address *address)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (size_t i = 0; i < sizeof address->bytes; i++) {
        hash = (hash ^ address->bytes[i]) * 0x100000001b3U;
    }
    return (size_t)(hash ^ hash >> 32) & (addresses->cap - 1);
}

/* The address' entry, or the free one where it belongs. */
static struct addresses_entry *find(const struct addresses *addresses,
                                    const struct address *address)
{
    size_t at = place_of(addresses, address);
    while (addresses->entries[at].count != 0 &&
           memcmp(&addresses->entries[at].address, address, sizeof *address) != 0) {
        at = (at + 1) & (addresses->cap - 1);
    }
    return &addresses->entries[at];
}

static void grow(struct addresses *addresses)
{
    struct addresses old = *addresses;
    addresses->cap = old.cap == 0 ? CAP_MIN : old.cap * 2;
    addresses->entries = calloc(addresses->cap, sizeof *addresses->entries);
    ensure(addresses->entries != NULL);
    for (size_t i = 0; i < old.cap; i++) {
        if (old.entries[i].count != 0) {
            *find(addresses, &old.entries[i].address) = old.entries[i];
        }
    }
    free(old.entries);
}

uint32_t addresses_add(struct addresses *addresses, const struct address *address)
{
    if (addresses->used >= addresses->cap / 2) {
        grow(addresses);
    }
    struct addresses_entry *entry = find(addresses, address);
    if (entry->count == 0) {
        entry->address = *address;
        addresses->used++;
    }
    return ++entry->count;
}

/* Closes the gap, so that what was pushed past it is found again. */
static void erase(struct addresses *addresses, size_t gap)
{
    struct addresses_entry *entries = addresses->entries;
    size_t mask = addresses->cap - 1;
    entries[gap].count = 0;
    for (size_t at = (gap + 1) & mask; entries[at].count != 0; at = (at + 1) & mask) {
        size_t home = place_of(addresses, &entries[at].address);
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            entries[gap] = entries[at];
            entries[at].count = 0;
            gap = at;
        }
    }
    addresses->used--;
}

void addresses_remove(struct addresses *addresses, const struct address *address)
{
    ensure(addresses->cap > 0);
    struct addresses_entry *entry = find(addresses, address);
    ensure(entry->count > 0);
    if (--entry->count == 0) {
        erase(addresses, (size_t)(entry - addresses->entries));
    }
}

uint32_t addresses_count(const struct addresses *addresses, const struct address *address)
{
    return addresses->cap == 0 ? 0 : find(addresses, address)->count;
}
