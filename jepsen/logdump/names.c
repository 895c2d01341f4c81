#include "jepsen/logdump/names.h"

#include <stdlib.h>

#include "rpc/ensure.h"

void names_init(struct names *names, const struct state *state)
{
    *names = (struct names){.state = state};
    arena_init(&names->arena, SIZE_MAX);
}

void names_close(struct names *names)
{
    arena_close(&names->arena);
    free(names->before);
}

void names_reset(struct names *names)
{
    arena_reset(&names->arena, 1 << 20);
    names->count = 0;
    names->created = SPAN_NULL;
}

void names_begin_record(struct names *names, uint64_t group, struct span created)
{
    names->group = group;
    if (!span_is_null(created)) {
        names->created = created;
    }
}

static const struct group_slot *find_group(const struct names *names, uint64_t id)
{
    if (id != 0) {
        return state_group_by_id(names->state, id);
    }
    return span_is_null(names->created) ? NULL : state_group(names->state, names->created);
}

static struct span find_now(const struct names *names, const char *field, uint64_t id)
{
    if (strcmp(field, "group") == 0) {
        const struct group_slot *slot = find_group(names, id);
        return slot == NULL ? SPAN_NULL : slot->facts->name;
    }
    if (strcmp(field, "topic") == 0) {
        const struct topic *topic = state_topic_by_id(names->state, id);
        return topic == NULL ? SPAN_NULL : topic->name;
    }
    const struct group_slot *slot = find_group(names, names->group);
    const struct member *member =
        slot == NULL || id == 0 ? NULL : group_member_by_id(slot->facts, id);
    return member == NULL ? SPAN_NULL : member->member_id;
}

void names_note(void *ctx, const char *field, uint64_t id)
{
    struct names *names = ctx;
    struct span name = id == 0 ? SPAN_NULL : find_now(names, field, id);
    if (span_is_null(name)) {
        return;
    }
    if (names->count == names->cap) {
        names->cap = names->cap * 2 + 16;
        names->before = realloc(names->before, names->cap * sizeof *names->before);
        ensure(names->before != NULL);
    }
    names->before[names->count++] =
        (struct names_item){.name = arena_copy(&names->arena, name), .id = id};
}

struct span names_find(void *ctx, const char *field, uint64_t id)
{
    const struct names *names = ctx;
    struct span name = find_now(names, field, id);
    for (size_t i = 0; i < names->count && id != 0 && span_is_null(name); i++) {
        if (names->before[i].id == id) {
            name = names->before[i].name;
        }
    }
    if (span_is_null(name) && id == 0 && strcmp(field, "group") == 0) {
        return names->created; /* not replayed, and gone since */
    }
    return name;
}
