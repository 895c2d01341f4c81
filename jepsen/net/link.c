#include "jepsen/net/link.h"

#include <string.h>

#include "jepsen/lab/chance.h"
#include "jepsen/lab/control.h"

static const uint64_t second_ns = 1000000000;

void link_close(struct link *link)
{
    buf_close(&link->held);
}

/* When the frame has left a line of this rate; false: its queue is full. */
static bool pass_rate(struct link *link, size_t len, uint64_t now_ns, uint64_t *due_ns)
{
    uint64_t start_ns = link->line_free_ns > now_ns ? link->line_free_ns : now_ns;
    if (start_ns - now_ns > (uint64_t)LINK_BACKLOG_MS * 1000000) {
        return false;
    }
    *due_ns = start_ns + len * second_ns / link->rule.rate_bytes;
    link->line_free_ns = *due_ns;
    return true;
}

static void decide_due(struct link *link,
                       size_t len,
                       uint64_t now_ns,
                       uint64_t *chance,
                       struct link_copy *copy)
{
    const struct link_rule *rule = &link->rule;
    uint64_t due_ns = now_ns;
    if (rule->rate_bytes != 0 && !pass_rate(link, len, now_ns, &due_ns)) {
        link->counters.overflowed++;
        copy->fate = LINK_GONE;
        return;
    }
    due_ns += rule->delay_us * 1000;
    if (rule->jitter_us != 0) {
        due_ns += chance_below(chance, rule->jitter_us * 1000);
    }
    if (chance_hits(chance, rule->reorder_ppm)) {
        link->counters.reordered++;
        due_ns += rule->reorder_us * 1000;
    } else {
        due_ns = due_ns > link->last_due_ns ? due_ns : link->last_due_ns;
        link->last_due_ns = due_ns;
    }
    link->counters.delivered++;
    copy->fate = LINK_DUE;
    copy->due_ns = due_ns;
}

static void decide_copy(struct link *link,
                        size_t len,
                        uint64_t now_ns,
                        uint64_t *chance,
                        struct link_copy *copy)
{
    *copy = (struct link_copy){.fate = LINK_DUE};
    if (len > LINK_PROTECTED_BYTES && chance_hits(chance, link->rule.corrupt_ppm)) {
        link->counters.corrupted++;
        copy->corrupt_at =
            LINK_PROTECTED_BYTES + (size_t)chance_below(chance, len - LINK_PROTECTED_BYTES);
        copy->corrupt_xor = (uint8_t)(1 + chance_below(chance, 255));
    }
    if (!link->rule.hold) {
        decide_due(link, len, now_ns, chance, copy);
    } else if (link->held.len + len > LINK_HELD_BYTES_MAX) {
        link->counters.overflowed++;
        copy->fate = LINK_GONE;
    } else {
        link->counters.held++;
        copy->fate = LINK_HELD;
    }
}

size_t link_decide(struct link *link,
                   size_t len,
                   uint64_t now_ns,
                   uint64_t *chance,
                   struct link_copy copies[LINK_COPIES_MAX])
{
    link->counters.frames++;
    link->counters.bytes += len;
    if (link->rule.drop) {
        link->counters.dropped++;
        return 0;
    }
    if (chance_hits(chance, link->rule.loss_ppm)) {
        link->counters.lost++;
        return 0;
    }
    size_t count = 1;
    if (chance_hits(chance, link->rule.duplicate_ppm)) {
        link->counters.duplicated++;
        count = 2;
    }
    for (size_t i = 0; i < count; i++) {
        decide_copy(link, len, now_ns, chance, &copies[i]);
    }
    return count;
}

void link_hold(struct link *link, const uint8_t *frame, size_t len)
{
    uint32_t size = (uint32_t)len;
    buf_append(&link->held, &size, sizeof size);
    buf_append(&link->held, frame, len);
}

bool link_next_held(const struct link *link, size_t *at, const uint8_t **frame, size_t *len)
{
    if (*at >= link->held.len) {
        return false;
    }
    uint32_t size;
    memcpy(&size, link->held.data + *at, sizeof size);
    *frame = link->held.data + *at + sizeof size;
    *len = size;
    *at += sizeof size + size;
    return true;
}

void link_forget(struct link *link)
{
    buf_close(&link->held);
    link->held = BUF_EMPTY;
}

bool link_set(struct link_rule *rule, const char *key, const char *value)
{
    static const uint64_t million = 1000000;
    static const uint64_t hour_us = 3600 * 1000000U;
    uint64_t number;
    struct {
        const char *name;
        uint64_t max;
        bool *flag;
        uint32_t *ppm;
        uint64_t *amount;
    } keys[] = {
        {.name = "drop", .max = 1, .flag = &rule->drop},
        {.name = "hold", .max = 1, .flag = &rule->hold},
        {.name = "loss", .max = million, .ppm = &rule->loss_ppm},
        {.name = "duplicate", .max = million, .ppm = &rule->duplicate_ppm},
        {.name = "reorder", .max = million, .ppm = &rule->reorder_ppm},
        {.name = "corrupt", .max = million, .ppm = &rule->corrupt_ppm},
        {.name = "delay_us", .max = hour_us, .amount = &rule->delay_us},
        {.name = "jitter_us", .max = hour_us, .amount = &rule->jitter_us},
        {.name = "reorder_us", .max = hour_us, .amount = &rule->reorder_us},
        {.name = "rate_bytes", .max = UINT32_MAX, .amount = &rule->rate_bytes},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(key, keys[i].name) != 0 || !control_number(value, keys[i].max, &number)) {
            continue;
        }
        if (keys[i].flag != NULL) {
            *keys[i].flag = number == 1;
        } else if (keys[i].ppm != NULL) {
            *keys[i].ppm = (uint32_t)number;
        } else {
            *keys[i].amount = number;
        }
        return true;
    }
    return false;
}

void link_clear(struct link *link)
{
    link->rule = (struct link_rule){.drop = false};
    link->line_free_ns = 0;
    link->last_due_ns = 0;
}
