#include <criterion/criterion.h>
#include <string.h>

#include "server/core/limits.h"
#include "server/core/member_id.h"

static struct arena arena;
static struct call call;

static void setup(void)
{
    arena_init(&arena, SIZE_MAX);
    call = (struct call){.arena = &arena};
    for (int i = 0; i < 16; i++) {
        call.entropy[i] = (uint8_t)(0x11 * i);
    }
}

static void teardown(void)
{
    arena_close(&arena);
}

TestSuite(member_id, .init = setup, .fini = teardown);

Test(member_id, is_the_clients_id_and_a_uuid_of_version_4)
{
    struct span id = member_id_make(&call, SPAN_LITERAL("app-1"));
    struct span expected = SPAN_LITERAL("app-1-00112233-4455-4677-8899-aabbccddeeff");
    cr_assert(span_equal(id, expected), "%.*s", (int)id.len, (const char *)id.data);
    cr_assert(span_equal(member_id_make(&call, SPAN_LITERAL("app-1")), id), "the same again");
}

Test(member_id, of_all_ones)
{
    memset(call.entropy, 0xff, sizeof call.entropy);
    struct span id = member_id_make(&call, SPAN_EMPTY);
    cr_assert(span_equal(id, SPAN_LITERAL("-ffffffff-ffff-4fff-bfff-ffffffffffff")));
}

Test(member_id, cuts_what_is_too_long)
{
    uint8_t text[LIMIT_CLIENT_ID_BYTES + 1];
    memset(text, 'c', sizeof text);
    struct span at = member_id_make(&call, span_of(text, LIMIT_CLIENT_ID_BYTES));
    struct span beyond = member_id_make(&call, span_of(text, LIMIT_CLIENT_ID_BYTES + 1));
    cr_assert_eq(at.len, LIMIT_CLIENT_ID_BYTES + 37);
    cr_assert(span_equal(at, beyond));
}
