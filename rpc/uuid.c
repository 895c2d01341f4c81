#include "rpc/uuid.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void uuid_format(struct uuid id, char text[UUID_TEXT_LEN + 1])
{
    for (unsigned i = 0; i < UUID_TEXT_LEN; i++) {
        unsigned at = i * 6 / 8;
        unsigned pair = (unsigned)id.bytes[at] << 8 | (at + 1 < 16 ? id.bytes[at + 1] : 0);
        text[i] = alphabet[pair >> (10 - i * 6 % 8) & 63];
    }
    text[UUID_TEXT_LEN] = '\0';
}

bool uuid_parse(struct span text, struct uuid *id)
{
    if (text.len != UUID_TEXT_LEN) {
        return false;
    }
    struct uuid parsed = {0};
    for (unsigned i = 0; i < UUID_TEXT_LEN; i++) {
        const char *c = text.data[i] == '\0' ? NULL : strchr(alphabet, text.data[i]);
        if (c == NULL) {
            return false;
        }
        unsigned at = i * 6 / 8;
        unsigned pair = (unsigned)(c - alphabet) << (10 - i * 6 % 8);
        parsed.bytes[at] = (uint8_t)(parsed.bytes[at] | pair >> 8);
        if (at + 1 < 16) {
            parsed.bytes[at + 1] = (uint8_t)(parsed.bytes[at + 1] | (pair & 0xff));
        } else if ((pair & 0xff) != 0) {
            return false; /* bits behind the last byte: another text of the same id */
        }
    }
    *id = parsed;
    return true;
}
