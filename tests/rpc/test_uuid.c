#include <criterion/criterion.h>

#include "rpc/uuid.h"

static struct uuid sample(unsigned seed)
{
    struct uuid id;
    for (unsigned i = 0; i < sizeof id.bytes; i++) {
        seed = seed * 1103515245 + 12345;
        id.bytes[i] = (uint8_t)(seed >> 16);
    }
    return id;
}

Test(uuid, text_is_url_safe_base64)
{
    char text[UUID_TEXT_LEN + 1];
    uuid_format((struct uuid){{0}}, text);
    cr_assert_str_eq(text, "AAAAAAAAAAAAAAAAAAAAAA");
    struct uuid id;
    memset(id.bytes, 0xff, sizeof id.bytes);
    uuid_format(id, text);
    cr_assert_str_eq(text, "_____________________w");
    for (uint8_t i = 0; i < 16; i++) {
        id.bytes[i] = i;
    }
    uuid_format(id, text);
    cr_assert_str_eq(text, "AAECAwQFBgcICQoLDA0ODw");
}

Test(uuid, text_round_trip)
{
    for (unsigned seed = 0; seed < 1000; seed++) {
        char text[UUID_TEXT_LEN + 1];
        struct uuid id = sample(seed);
        struct uuid back;
        uuid_format(id, text);
        cr_assert(uuid_parse(span_from_cstr(text), &back), "%s", text);
        cr_assert(uuid_equal(id, back));
    }
}

Test(uuid, other_texts_are_refused)
{
    static const char *const bad[] = {
        "",
        "AAECAwQFBgcICQoLDA0OD",   /* short */
        "AAECAwQFBgcICQoLDA0ODwA", /* long */
        "AAECAwQFBgcICQoLDA0OD+",  /* not the URL-safe alphabet */
        "AAECAwQFBgcICQoLDA0OD=",
        "AAECAwQFBgcICQoLDA0ODx", /* bits behind the last byte */
    };
    struct uuid id;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_not(uuid_parse(span_from_cstr(bad[i]), &id), "%s", bad[i]);
    }
    cr_assert_not(uuid_parse(SPAN_LITERAL("AAECAwQFBgcICQoLDA0OD\0"), &id));
    cr_assert_not(uuid_parse(SPAN_NULL, &id));
}

Test(uuid, order_and_zero)
{
    struct uuid zero = {{0}};
    struct uuid one = {{[15] = 1}};
    struct uuid large = {{[0] = 1}};
    cr_assert(uuid_is_zero(zero));
    cr_assert_not(uuid_is_zero(one));
    cr_assert_lt(uuid_compare(zero, one), 0);
    cr_assert_lt(uuid_compare(one, large), 0);
    cr_assert_eq(uuid_compare(one, one), 0);
    cr_assert_not(uuid_equal(one, large));
}
