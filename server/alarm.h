/* One timer of the loop for whoever keeps many deadlines of his own.
 *
 * It is only ever moved earlier: where the next deadline moves later the alarm rings early, its
 * owner finds nothing due and asks again. So pushing a deadline back costs no timer operation. */
#ifndef SERVER_ALARM_H
#define SERVER_ALARM_H

#include <stdint.h>
#include <uv.h>

struct alarm {
    uv_timer_t timer;
    int64_t at_ms; /* when it rings, by the loop's clock; INT64_MAX: not set */
    void (*ring)(void *ctx);
    void *ctx;
};

void alarm_init(struct alarm *alarm, uv_loop_t *loop, void (*ring)(void *ctx), void *ctx);
void alarm_close(struct alarm *alarm);

/* Ring at [at_ms] (of uv_now()) or earlier; INT64_MAX: no need. */
void alarm_ask(struct alarm *alarm, int64_t at_ms);

#endif
