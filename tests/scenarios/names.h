/* Short names for what is random in the world: "m1-#1" for a member id that ends in the first UUID
 * that the file has seen, "@t.2" for the id of the second topic that was called t. */
#ifndef TESTS_SCENARIOS_NAMES_H
#define TESTS_SCENARIOS_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/arena.h"
#include "rpc/buf.h"
#include "rpc/uuid.h"

enum { NAMES_UUID_CHARS = 36, NAMES_MAX = 4096 };

struct names {
    char members[NAMES_MAX][NAMES_UUID_CHARS];
    int members_count;
    struct {
        char name[256];
        struct uuid uuid;
    } topics[NAMES_MAX];
    int topics_count;
};

/* "m1-#1" to the real id, in [arena]; other text as it is. */
struct span names_expand(const struct names *names, struct span text, struct arena *arena);
/* The other way round; new UUIDs get the next number. Appends to [out]. */
void names_shrink(struct names *names, struct span text, struct buf *out);

void names_add_topic(struct names *names, struct span name, struct uuid uuid);
/* "@t" or "@t.2"; "@none" is an id that no topic has. False: no such name. */
bool names_topic(const struct names *names, struct span text, struct uuid *uuid);
void names_print_topic(const struct names *names, struct uuid uuid, struct buf *out);

#endif
