#include "server/signals.h"

#include <pthread.h>
#include <signal.h>

#include "rpc/ensure.h"

const int signals_numbers[SIGNALS_COUNT] = {SIGTERM, SIGINT, SIGUSR1, SIGHUP};

static void mask(int how)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < SIGNALS_COUNT; i++) {
        sigaddset(&set, signals_numbers[i]);
    }
    ensure(pthread_sigmask(how, &set, NULL) == 0);
}

void signals_hold(void)
{
    mask(SIG_BLOCK);
}

void signals_release(void)
{
    mask(SIG_UNBLOCK);
}
