/* G11: nothing is written while the log is being truncated.
 *
 * Two faults of the library meet here. It forgets one of two disk barriers that overlap (L3). And
 * where a truncation fails it takes note for itself only and goes on (L7): what is appended next
 * lands behind entries that should be gone, and once the node has started again it takes them for
 * committed ones. A truncation has no callback; so what follows waits until the disk shows that the
 * log has ended where it should, and where it never does the process ends with nothing written. */
#include <stdlib.h>

#include "raftlog/guard_parts.h"
#include "rpc/ensure.h"

/* The library appends behind each truncation; when that is done its barrier is gone. */
static bool may_write(const struct guard *guard, enum guard_write_kind kind)
{
    switch (kind) {
        case GUARD_APPEND:
            return guard->truncating == 0;
        case GUARD_TRUNCATE:
            return guard->truncates_pending == 0 && guard->puts == 0;
        case GUARD_PUT:
            return guard->truncates_pending == 0;
    }
    return false;
}

int guard_order(struct guard *guard, const struct guard_write *write)
{
    if (!guard_has(guard, GUARD_ONE_TRUNCATE) ||
        (guard->waiting == NULL && may_write(guard, write->kind))) {
        return guard_disk_write(guard, write);
    }
    struct guard_write *copy = malloc(sizeof *copy);
    ensure(copy != NULL);
    *copy = *write;
    copy->next = NULL;
    struct guard_write **at = &guard->waiting;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = copy;
    return 0;
}

static bool is_truncated(struct guard *guard)
{
    if (guard->truncating == 0) {
        return true;
    }
    if (guard->appends != 0) {
        return false; /* they came before the truncation, and may not have reached any file yet */
    }
    int seen = guard->events->truncated(guard->ctx, guard->truncating);
    if (seen < 0) {
        guard_stop(guard, "it cannot be seen whether the log was truncated");
    }
    if (seen > 0) {
        guard->truncating = 0;
    }
    return seen > 0;
}

void guard_turn(struct guard *guard)
{
    while (!guard->is_closing && is_truncated(guard) && guard->waiting != NULL &&
           may_write(guard, guard->waiting->kind)) {
        struct guard_write *write = guard->waiting;
        guard->waiting = write->next;
        guard_disk_write(guard, write);
        free(write);
    }
}
