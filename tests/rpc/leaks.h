/* Criterion passes a test that leaks: LeakSanitizer speaks only after the verdict. As the last
 * thing a suite does (.fini), this makes a leak a crash in teardown, and the run's exit code 1. */
#ifndef TESTS_RPC_LEAKS_H
#define TESTS_RPC_LEAKS_H

#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEAKS_ARE_KNOWN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define LEAKS_ARE_KNOWN 1
#endif

#ifdef LEAKS_ARE_KNOWN
#include <sanitizer/lsan_interface.h>
#endif

static inline void leaks_abort(void)
{
#ifdef LEAKS_ARE_KNOWN
    if (__lsan_do_recoverable_leak_check() != 0) {
        abort();
    }
#endif
}

#endif
