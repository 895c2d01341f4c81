/* Invariants, checked in every build: a broken one is a bug of ours, and a coordinator that no
 * longer trusts its own state must stop and be restarted rather than answer. Hostile input never
 * reaches an ensure(): it is an error code. */
#ifndef RPC_ENSURE_H
#define RPC_ENSURE_H

#define ensure(condition)                                            \
    do {                                                             \
        if (__builtin_expect(!(condition), 0)) {                     \
            ensure_failed(#condition, __FILE__, __LINE__, __func__); \
        }                                                            \
    } while (0)

/* Calls the hook, if one is set, then aborts. */
_Noreturn void ensure_failed(const char *condition, const char *file, int line, const char *func);

/* The shell sets a hook that writes the message to the log; it must not return control to the
 * code that failed. */
void ensure_set_hook(
    void (*hook)(const char *condition, const char *file, int line, const char *func));

#endif
