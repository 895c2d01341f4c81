#include <criterion/criterion.h>
#include <signal.h>

#include "rpc/ensure.h"

static void hook(const char *condition, const char *file, int line, const char *func)
{
    bool is_told = strcmp(condition, "1 + 1 == 3") == 0 && strstr(file, "test_ensure") != NULL &&
                   line > 0 && func != NULL;
    /* Another signal than the abort that follows a hook. */
    raise(is_told ? SIGUSR1 : SIGUSR2);
}

Test(ensure, what_holds_costs_nothing)
{
    ensure(1 + 1 == 2);
}

Test(ensure, what_does_not_hold_aborts, .signal = SIGABRT)
{
    ensure(1 + 1 == 3);
}

Test(ensure, the_hook_is_told_what_and_where, .signal = SIGUSR1)
{
    ensure_set_hook(hook);
    ensure(1 + 1 == 3);
}
