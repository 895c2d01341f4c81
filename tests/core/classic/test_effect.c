#include <criterion/criterion.h>
#include <string.h>

#include "server/core/effect.h"

TestSuite(effect);

Test(effect, come_in_order_and_keep_their_bytes)
{
    struct effects effects;
    struct call call = {0};
    uint8_t bytes[3] = {1, 2, 3};
    effects_init(&effects);
    effects_propose(&effects, 7, span_of(bytes, 3));
    bytes[0] = 9; /* they were copied */
    effects_reply(&effects, &call, &bytes);
    effects_log(&effects, EFFECT_WARN, "event a=%d", 5);
    struct effect *effect = effects_next(&effects);
    cr_assert_eq(effect->kind, EFFECT_PROPOSE);
    cr_assert_eq(effect->number, 7);
    cr_assert_eq(effect->records.data[0], 1);
    effect = effects_next(&effects);
    cr_assert_eq(effect->kind, EFFECT_REPLY);
    cr_assert_eq(effect->call, &call);
    effect = effects_next(&effects);
    cr_assert_eq(effect->level, EFFECT_WARN);
    cr_assert_str_eq(effect->line, "event a=5");
    cr_assert_null(effects_next(&effects));
    effects_reset(&effects);
    effects_close(&effects);
}

Test(effect, a_proposal_may_be_taken_back)
{
    struct effects effects;
    effects_init(&effects);
    for (uint64_t n = 1; n <= 3; n++) {
        effects_propose(&effects, n, SPAN_EMPTY);
    }
    cr_assert_eq(effects_next(&effects)->number, 1);
    cr_assert_not(effects_cancel(&effects, 1), "it is off the queue");
    cr_assert(effects_cancel(&effects, 3));
    effects_propose(&effects, 4, SPAN_EMPTY);
    cr_assert(effects_cancel(&effects, 2));
    cr_assert_eq(effects_next(&effects)->number, 4);
    cr_assert_null(effects_next(&effects));
    effects_reset(&effects);
    effects_close(&effects);
}

Test(effect, text_of_clients_is_harmless)
{
    struct effects effects;
    char longer[129];
    effects_init(&effects);
    cr_assert_str_eq(effect_text(&effects, SPAN_LITERAL("plain-1")), "plain-1");
    cr_assert_str_eq(effect_text(&effects, SPAN_LITERAL("")), "\"\"");
    cr_assert_str_eq(effect_text(&effects, SPAN_NULL), "\"\"");
    cr_assert_str_eq(effect_text(&effects, SPAN_LITERAL("a b")), "\"a b\"");
    cr_assert_str_eq(effect_text(&effects, SPAN_LITERAL("a=b")), "\"a=b\"");
    cr_assert_str_eq(effect_text(&effects, SPAN_LITERAL("x\n\"\\\xff")), "x\\x0a\\x22\\x5c\\xff");
    memset(longer, 'y', sizeof longer);
    cr_assert_eq(strlen(effect_text(&effects, span_of(longer, 128))), 128);
    cr_assert_eq(strlen(effect_text(&effects, span_of(longer, 129))), 128);
    effects_close(&effects);
}
