/* What is shared by all connections: the budget, connections per address, rates of log lines. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>

#include "server/addresses.h"
#include "server/budget.h"
#include "server/effect_log.h"
#include "server/hint.h"
#include "server/log.h"

Test(budget, at_and_over)
{
    struct budget budget;
    budget_init(&budget, 800);
    budget_take(&budget, 800);
    cr_assert_not(budget_is_over(&budget));
    budget_take(&budget, 1);
    cr_assert(budget_is_over(&budget));
    cr_assert_not(budget_is_far_over(&budget));
    budget_take(&budget, 99);
    cr_assert_not(budget_is_far_over(&budget));
    budget_take(&budget, 1);
    cr_assert(budget_is_far_over(&budget));
    budget_give(&budget, 901);
    cr_assert_eq(budget.used, 0);
    cr_assert_eq(budget.peak, 901);
}

static struct address v4(const char *text)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    cr_assert_eq(inet_pton(AF_INET, text, &from.sin_addr), 1);
    return address_of((struct sockaddr *)&from);
}

static struct address v6(const char *text)
{
    struct sockaddr_in6 from = {.sin6_family = AF_INET6};
    cr_assert_eq(inet_pton(AF_INET6, text, &from.sin6_addr), 1);
    return address_of((struct sockaddr *)&from);
}

Test(addresses, text)
{
    char text[ADDRESS_TEXT_BYTES];
    struct address address = v4("10.0.0.5");
    address_format(&address, text);
    cr_assert_str_eq(text, "/10.0.0.5");
    address = v6("fd00::1");
    address_format(&address, text);
    cr_assert_str_eq(text, "/fd00::1");
    address = v6("::ffff:10.0.0.5");
    address_format(&address, text);
    cr_assert_str_eq(text, "/10.0.0.5");
    address = v6("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
    address_format(&address, text);
    cr_assert_eq(strlen(text), 40);
}

Test(addresses, one_address_in_both_families)
{
    struct addresses addresses;
    addresses_init(&addresses);
    struct address a = v4("10.0.0.5");
    struct address b = v6("::ffff:10.0.0.5");
    cr_assert_eq(addresses_count(&addresses, &a), 0);
    cr_assert_eq(addresses_add(&addresses, &a), 1);
    cr_assert_eq(addresses_add(&addresses, &b), 2);
    addresses_remove(&addresses, &a);
    cr_assert_eq(addresses_count(&addresses, &b), 1);
    addresses_close(&addresses);
}

/* Many come and go; a plain array is the model. */
Test(addresses, counts)
{
    enum { ADDRESSES = 500, STEPS = 20000 };
    static uint32_t model[ADDRESSES];
    struct addresses addresses;
    addresses_init(&addresses);
    uint32_t seed = 1;
    for (int step = 0; step < STEPS; step++) {
        seed = seed * 1664525U + 1013904223U;
        uint32_t i = (seed >> 8) % ADDRESSES;
        struct address address = {{0}};
        memcpy(address.bytes, &i, sizeof i);
        if ((seed & 0x80) != 0 || model[i] == 0) {
            cr_assert_eq(addresses_add(&addresses, &address), ++model[i]);
        } else {
            addresses_remove(&addresses, &address);
            model[i]--;
        }
        cr_assert_eq(addresses_count(&addresses, &address), model[i]);
    }
    size_t used = 0;
    for (uint32_t i = 0; i < ADDRESSES; i++) {
        struct address address = {{0}};
        memcpy(address.bytes, &i, sizeof i);
        cr_assert_eq(addresses_count(&addresses, &address), model[i]);
        used += model[i] > 0;
    }
    cr_assert_eq(addresses.used, used);
    addresses_close(&addresses);
}

Test(log, rate)
{
    struct log_rate rate = {0};
    uint32_t suppressed;
    for (int i = 0; i < LOG_RATE_LINES; i++) {
        cr_assert(log_rate_pass(&rate, LOG_RATE_LINES, 1000 + i, &suppressed));
        cr_assert_eq(suppressed, 0);
    }
    cr_assert_not(log_rate_pass(&rate, LOG_RATE_LINES, 1010, &suppressed));
    int64_t next_ms = 1000 + LOG_RATE_WINDOW_MS;
    cr_assert_not(log_rate_pass(&rate, LOG_RATE_LINES, next_ms - 1, &suppressed));
    cr_assert(log_rate_pass(&rate, LOG_RATE_LINES, next_ms, &suppressed));
    cr_assert_eq(suppressed, 2);
    cr_assert(log_rate_pass(&rate, LOG_RATE_LINES, next_ms + 1, &suppressed));
    cr_assert_eq(suppressed, 0);
}

/* How many of [count] such lines pass, all in one window. */
static int passes(struct effect_log *log, enum effect_level level, const char *line, int count)
{
    int passed = 0;
    for (int i = 0; i < count; i++) {
        struct effect effect = {.kind = EFFECT_LOG, .level = level, .line = line};
        uint32_t suppressed;
        passed += effect_log_pass(log, 1000, &effect, &suppressed);
    }
    return passed;
}

Test(effect_log, rates_by_name_and_kind)
{
    static struct effect_log log;
    uint32_t suppressed;
    effect_log_init(&log);
    cr_assert_eq(passes(&log, EFFECT_WARN, "join_refused group=a", LOG_RATE_LINES), LOG_RATE_LINES);
    cr_assert_eq(passes(&log, EFFECT_WARN, "join_refused group=b", 7), 0, "whatever the group");
    cr_assert_eq(passes(&log, EFFECT_WARN, "join_refused_more", 1), 1, "another name");
    cr_assert_eq(passes(&log, EFFECT_WARN, "member_fenced", 1), 1, "a line may be its name alone");
    cr_assert_eq(passes(&log, EFFECT_INFO, "member_left group=a", EFFECT_LOG_NOTICES + 1),
                 EFFECT_LOG_NOTICES);
    /* What is gone must not be gone without a trace. */
    cr_assert_eq(passes(&log, EFFECT_INFO, "offsets_deleted group=a", 5000), 5000);
    cr_assert_eq(passes(&log, EFFECT_INFO, "group_deleted group=a", 5000), 5000);
    struct effect later = {.level = EFFECT_WARN, .line = "join_refused group=c"};
    cr_assert(effect_log_pass(&log, 1000 + LOG_RATE_WINDOW_MS, &later, &suppressed));
    cr_assert_eq(suppressed, 7);
}

Test(log, text_of_clients)
{
    struct log_text text;
    cr_assert_str_eq(log_text(&text, SPAN_LITERAL("worker-1")), "worker-1");
    cr_assert_str_eq(log_text(&text, SPAN_LITERAL("a b\n\"\x01")), "a\\x20b\\x0a\\x22\\x01");
    cr_assert_str_eq(log_text(&text, SPAN_NULL), "");
    uint8_t many[65];
    memset(many, 0xff, sizeof many);
    cr_assert_eq(strlen(log_text(&text, span_of(many, 64))), 64 * 4);
    cr_assert_eq(strlen(log_text(&text, span_of(many, 65))), 64 * 4 + 3);
}

Test(hint, once_per_subject_and_minute)
{
    static struct hints hints;
    cr_assert(hint_is_due(&hints, 5, "unknown_topic", SPAN_LITERAL("a")));
    cr_assert_not(hint_is_due(&hints, 6, "unknown_topic", SPAN_LITERAL("a")));
    cr_assert(hint_is_due(&hints, 6, "unknown_topic", SPAN_LITERAL("b")));
    cr_assert(hint_is_due(&hints, 6, "produce", SPAN_LITERAL("a")));
    cr_assert_not(hint_is_due(&hints, 4 + HINT_PERIOD_MS, "unknown_topic", SPAN_LITERAL("a")));
    cr_assert(hint_is_due(&hints, 5 + HINT_PERIOD_MS, "unknown_topic", SPAN_LITERAL("a")));
}
