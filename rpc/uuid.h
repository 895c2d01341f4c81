/* Kafka's 16-byte identifiers: topics, directories. All zero means "none". */
#ifndef RPC_UUID_H
#define RPC_UUID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "rpc/span.h"

struct uuid {
    uint8_t bytes[16]; /* most significant first, as on the wire */
};

/* Characters of the text form: URL-safe base64 without padding. */
enum { UUID_TEXT_LEN = 22 };

static inline bool uuid_is_zero(struct uuid id)
{
    static const struct uuid zero;
    return memcmp(id.bytes, zero.bytes, sizeof id.bytes) == 0;
}

static inline bool uuid_equal(struct uuid a, struct uuid b)
{
    return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
}

/* Bytewise: a total order. */
static inline int uuid_compare(struct uuid a, struct uuid b)
{
    return memcmp(a.bytes, b.bytes, sizeof a.bytes);
}

/* Writes the text and a terminating NUL. */
void uuid_format(struct uuid id, char text[UUID_TEXT_LEN + 1]);

/* False unless [text] is exactly what uuid_format() would write for some id. */
bool uuid_parse(struct span text, struct uuid *id);

#endif
