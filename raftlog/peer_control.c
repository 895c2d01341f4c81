#include "raftlog/peer_control.h"

#include <stdlib.h>

#include "raftlog/peer_link.h"
#include "raftlog/peer_socket.h"
#include "rpc/ensure.h"

struct peer_control_out {
    struct peer_control *control;
    uint64_t node_id;
    uv_timer_t timer;
    struct dial *dial;
    struct peer_link *link;
    uint64_t number; /* of the last question */
    uint64_t asked_ms;
    uint64_t answered_ms; /* or since when there has been a connection */
    unsigned quick_tries; /* left, since the connection ended */
};

static uint64_t now_ms(const struct peer_control *control)
{
    return uv_now(control->loop);
}

static void came_back(struct peer_control *control)
{
    ensure(control->open_count > 0);
    if (--control->open_count == 0 && control->is_closing) {
        free(control->outs);
        control->outs = NULL;
        control->closed(control->ctx);
    }
}

static void send_status(struct peer_control *control,
                        struct peer_link *link,
                        enum peer_status_kind kind,
                        uint64_t number)
{
    struct peer_status status = {.kind = kind};
    control->events->describe(control->ctx, link->node_id, &status);
    status.kind = kind;
    status.number = number;
    peer_link_send(link, &status);
}

/* Of connections that we dialed. */

static void on_out_received(struct peer_link *link, const struct peer_status *status)
{
    struct peer_control_out *out = link->owner;
    struct peer_control *control = out->control;
    if (status->kind != PEER_STATUS_ANSWER || status->number != out->number) {
        return; /* an answer to an older question: its round trip is not known any more */
    }
    out->answered_ms = now_ms(control);
    control->events->heard(control->ctx, out->node_id, status,
                           (int64_t)(out->answered_ms - out->asked_ms));
}

static void on_timer(uv_timer_t *timer);

static void on_out_ended(struct peer_link *link)
{
    struct peer_control_out *out = link->owner;
    struct peer_control *control = out->control;
    out->link = NULL;
    if (!control->is_closing) {
        out->quick_tries = PEER_CONTROL_QUICK_TRIES;
        uv_timer_start(&out->timer, on_timer, 0, control->period_ms);
    }
    came_back(control);
}

/* After a failed attempt soon after the connection ended. */
static void try_quickly(struct peer_control_out *out, int error)
{
    struct peer_control *control = out->control;
    if (error == UV_ECONNREFUSED) {
        out->quick_tries = 0;
        control->events->died(control->ctx, out->node_id);
    } else {
        out->quick_tries--;
        uv_timer_start(&out->timer, on_timer, PEER_CONTROL_QUICK_MS, control->period_ms);
    }
}

static void ask(struct peer_control_out *out)
{
    out->asked_ms = now_ms(out->control);
    send_status(out->control, out->link, PEER_STATUS_QUESTION, ++out->number);
}

static void on_dialed(void *ctx, const struct handshake_result *result)
{
    struct peer_control_out *out = ctx;
    struct peer_control *control = out->control;
    out->dial = NULL;
    if (!control->is_closing) {
        control->events->dialed(control->ctx, out->node_id, result);
    }
    if (result->tcp != NULL && control->is_closing) {
        peer_socket_close(result->tcp);
    } else if (result->tcp != NULL) {
        out->link = peer_link_start(result->tcp, out->node_id, result->leftover, on_out_received,
                                    on_out_ended, out);
        control->open_count++;
        out->answered_ms = now_ms(control);
        out->quick_tries = 0;
        ask(out);
    } else if (!control->is_closing && out->quick_tries > 0) {
        try_quickly(out, result->error);
    }
    came_back(control);
}

static void dial(struct peer_control_out *out)
{
    struct peer_control *control = out->control;
    struct dial_target target;
    if (control->events->find(control->ctx, out->node_id, &target)) {
        out->dial =
            dial_start(control->loop, &target, HELLO_CONTROL, control->self, on_dialed, out);
        control->open_count++;
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct peer_control_out *out = timer->data;
    if (out->link == NULL && out->dial == NULL) {
        dial(out);
    } else if (out->link != NULL) {
        if (now_ms(out->control) - out->answered_ms > PEER_CONTROL_SILENCE_MS) {
            peer_link_stop(out->link);
        } else {
            ask(out);
        }
    }
}

/* Of connections to us. */

static void on_in_received(struct peer_link *link, const struct peer_status *status)
{
    struct peer_control *control = link->owner;
    if (status->kind != PEER_STATUS_QUESTION) {
        peer_link_stop(link);
        return;
    }
    control->events->heard(control->ctx, link->node_id, status, -1);
    send_status(control, link, PEER_STATUS_ANSWER, status->number);
}

static void on_in_ended(struct peer_link *link)
{
    struct peer_control *control = link->owner;
    struct peer_link **at = &control->inbound;
    while (*at != link) {
        at = &(*at)->next;
    }
    *at = link->next;
    came_back(control);
}

void peer_control_accept(struct peer_control *control, const struct handshake_result *result)
{
    if (control->is_closing) {
        peer_socket_close(result->tcp);
        return;
    }
    for (struct peer_link *old = control->inbound; old != NULL; old = old->next) {
        if (old->node_id == result->peer.node_id) {
            peer_link_stop(old);
        }
    }
    struct peer_link *link = peer_link_start(result->tcp, result->peer.node_id, result->leftover,
                                             on_in_received, on_in_ended, control);
    link->next = control->inbound;
    control->inbound = link;
    control->open_count++;
}

void peer_control_start(struct peer_control *control, const uint64_t *node_ids, size_t count)
{
    control->outs = calloc(count + 1, sizeof *control->outs);
    ensure(control->outs != NULL);
    control->outs_count = count;
    control->inbound = NULL;
    control->is_closing = false;
    control->open_count = 1; /* the control itself, until it is closed */
    control->period_ms = PEER_CONTROL_FAST_PERIOD_MS;
    for (size_t i = 0; i < count; i++) {
        struct peer_control_out *out = &control->outs[i];
        out->control = control;
        out->node_id = node_ids[i];
        ensure(uv_timer_init(control->loop, &out->timer) == 0);
        control->open_count++;
        out->timer.data = out;
        uv_timer_start(&out->timer, on_timer, 0, control->period_ms);
    }
}

void peer_control_set_period(struct peer_control *control, uint64_t period_ms)
{
    control->period_ms = period_ms;
    for (size_t i = 0; i < control->outs_count; i++) {
        uv_timer_start(&control->outs[i].timer, on_timer, 0, period_ms);
    }
}

static void on_timer_closed(uv_handle_t *timer)
{
    struct peer_control_out *out = timer->data;
    came_back(out->control);
}

void peer_control_close(struct peer_control *control, void (*closed)(void *ctx))
{
    control->is_closing = true;
    control->closed = closed;
    for (size_t i = 0; i < control->outs_count; i++) {
        struct peer_control_out *out = &control->outs[i];
        uv_close((uv_handle_t *)&out->timer, on_timer_closed);
        if (out->dial != NULL) {
            dial_cancel(out->dial);
        }
        if (out->link != NULL) {
            peer_link_stop(out->link);
        }
    }
    for (struct peer_link *link = control->inbound; link != NULL; link = link->next) {
        peer_link_stop(link);
    }
    came_back(control);
}
