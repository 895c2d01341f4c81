/* All deadlines of a coordinator in one heap: the shell asks for the next and has one timer.
 *
 * Moving a deadline later is O(1): the heap keeps the old time and puts the entry back when that
 * comes (a heartbeat must not cost a sift). Ties are broken by the order in which the entries got
 * their places, so equal inputs give equal order. */
#ifndef SERVER_CORE_DEADLINE_H
#define SERVER_CORE_DEADLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct coordinator;
struct deadline;

/* The deadline has passed; it is off the heap and may be set again. */
typedef void deadline_fn(struct coordinator *c, struct deadline *deadline);

/* Embedded in what it belongs to. */
struct deadline {
    int64_t at_ms;   /* when it is really due; INT64_MAX: off */
    int64_t heap_ms; /* its place in the heap: never later than at_ms */
    uint64_t order;
    size_t place; /* index + 1 in the heap; 0: not in it */
    deadline_fn *fire;
};

struct deadlines {
    struct deadline **heap;
    size_t count;
    size_t cap;
    uint64_t next_order;
};

void deadlines_init(struct deadlines *deadlines);
void deadlines_close(struct deadlines *deadlines);

void deadline_init(struct deadline *deadline, deadline_fn *fire);
void deadline_set(struct deadlines *deadlines, struct deadline *deadline, int64_t at_ms);
void deadline_clear(struct deadlines *deadlines, struct deadline *deadline);
static inline bool deadline_is_set(const struct deadline *deadline)
{
    return deadline->place != 0;
}

/* Fires at most [most] that are due at [now_ms]; true: there may be more. */
bool deadlines_run(struct deadlines *deadlines, struct coordinator *c, int64_t now_ms, size_t most);
/* Time stood still for [by_ms] (R9): all of them are due that much later. */
void deadlines_shift(struct deadlines *deadlines, int64_t by_ms);
/* Aborts where the heap is not one. */
void deadlines_check(const struct deadlines *deadlines);
/* INT64_MAX: none. May be earlier than the earliest real deadline, never later. */
int64_t deadlines_next(const struct deadlines *deadlines);

#endif
