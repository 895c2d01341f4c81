#include "server/alarm.h"

#include "rpc/ensure.h"

void alarm_init(struct alarm *alarm, uv_loop_t *loop, void (*ring)(void *ctx), void *ctx)
{
    ensure(uv_timer_init(loop, &alarm->timer) == 0);
    alarm->timer.data = alarm;
    alarm->at_ms = INT64_MAX;
    alarm->ring = ring;
    alarm->ctx = ctx;
}

void alarm_close(struct alarm *alarm)
{
    if (!uv_is_closing((uv_handle_t *)&alarm->timer)) {
        uv_close((uv_handle_t *)&alarm->timer, NULL);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct alarm *alarm = timer->data;
    alarm->at_ms = INT64_MAX;
    alarm->ring(alarm->ctx);
}

void alarm_ask(struct alarm *alarm, int64_t at_ms)
{
    if (at_ms >= alarm->at_ms || uv_is_closing((uv_handle_t *)&alarm->timer)) {
        return;
    }
    int64_t wait_ms = at_ms - (int64_t)uv_now(alarm->timer.loop);
    alarm->at_ms = at_ms;
    ensure(uv_timer_start(&alarm->timer, on_timer, wait_ms < 0 ? 0 : (uint64_t)wait_ms, 0) == 0);
}
