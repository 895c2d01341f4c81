#include "rpc/ensure.h"

#include <stdlib.h>

static void (*failed)(const char *condition, const char *file, int line, const char *func);

void ensure_set_hook(
    void (*hook)(const char *condition, const char *file, int line, const char *func))
{
    failed = hook;
}

void ensure_failed(const char *condition, const char *file, int line, const char *func)
{
    if (failed != NULL) {
        failed(condition, file, line, func);
    }
    abort();
}
