#include "server/core/member_id.h"

#include "server/core/limits.h"

enum { UUID_BYTES = 16, UUID_CHARS = 36 };

/* Version 4, variant 1 (RFC 4122 4.4). */
static void format_uuid(const uint8_t entropy[UUID_BYTES], uint8_t *out)
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < UUID_BYTES; i++) {
        uint8_t byte = entropy[i];
        if (i == 6) {
            byte = (uint8_t)((byte & 0x0f) | 0x40);
        } else if (i == 8) {
            byte = (uint8_t)((byte & 0x3f) | 0x80);
        }
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            *out++ = '-';
        }
        *out++ = (uint8_t)digits[byte >> 4];
        *out++ = (uint8_t)digits[byte & 15];
    }
}

struct span member_id_make(struct call *call, struct span prefix)
{
    size_t len = prefix.len < LIMIT_CLIENT_ID_BYTES ? prefix.len : LIMIT_CLIENT_ID_BYTES;
    uint8_t *id = arena_alloc(call->arena, len + 1 + UUID_CHARS);
    if (len > 0) {
        memcpy(id, prefix.data, len);
    }
    id[len] = '-';
    format_uuid(call->entropy, id + len + 1);
    return span_of(id, len + 1 + UUID_CHARS);
}
