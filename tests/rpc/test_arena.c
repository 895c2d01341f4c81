#include <criterion/criterion.h>

#include "leaks.h"
#include "rpc/arena.h"

TestSuite(arena, .fini = leaks_abort);

static bool is_zero(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

Test(arena, memory_is_zeroed_aligned_and_apart)
{
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    uint8_t *last = NULL;
    for (size_t size = 0; size < 3000; size += 7) {
        uint8_t *p = arena_alloc(&arena, size);
        cr_assert_not_null(p);
        cr_assert_eq((uintptr_t)p % 16, 0);
        cr_assert_neq(p, last);
        cr_assert(is_zero(p, size));
        memset(p, 0xaa, size);
        last = p;
    }
    arena_close(&arena);
}

Test(arena, reused_memory_is_zeroed_again)
{
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100; i++) {
            uint8_t *p = arena_alloc(&arena, 500);
            cr_assert(is_zero(p, 500));
            memset(p, 0xff, 500);
        }
        arena_reset(&arena, SIZE_MAX);
    }
    arena_close(&arena);
}

Test(arena, steady_use_allocates_nothing)
{
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    size_t held = 0;
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 100; i++) {
            arena_alloc(&arena, (size_t)(i * 37));
        }
        if (round == 0) {
            held = arena.held;
        }
        cr_assert_eq(arena.held, held, "round %d: %zu, not %zu", round, arena.held, held);
        arena_reset(&arena, SIZE_MAX);
        cr_assert_eq(arena.used, 0);
    }
    arena_close(&arena);
}

Test(arena, reset_keeps_no_more_than_asked)
{
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    arena_alloc(&arena, 100);
    arena_alloc(&arena, 1 << 20);
    cr_assert_gt(arena.held, (size_t)1 << 20);
    arena_reset(&arena, 8192);
    cr_assert_leq(arena.held, 8192);
    cr_assert_gt(arena.held, 0);
    arena_reset(&arena, 0);
    cr_assert_eq(arena.held, 0);
    cr_assert_not_null(arena_alloc(&arena, 1));
    arena_close(&arena);
    cr_assert_eq(arena.held, 0);
}

Test(arena, a_large_block_does_not_beget_large_blocks)
{
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    arena_alloc(&arena, 1 << 20);
    size_t held = arena.held;
    arena_alloc(&arena, 16);
    cr_assert_leq(arena.held, held + 65536);
    arena_close(&arena);
}

Test(arena, limit_holds_at_n_and_not_at_n_plus_1)
{
    struct arena arena;
    arena_init(&arena, 160);
    cr_assert_not_null(arena_try_alloc(&arena, 96));
    cr_assert_null(arena_try_alloc(&arena, 65));
    cr_assert_not_null(arena_try_alloc(&arena, 64));
    cr_assert_null(arena_try_alloc(&arena, 0), "even nothing takes 16 bytes");
    cr_assert_null(arena_try_alloc(&arena, SIZE_MAX));
    cr_assert_not_null(arena_alloc(&arena, 1000), "what is ours to choose ignores the limit");
    cr_assert_null(arena_try_alloc(&arena, 1));
    arena_reset(&arena, SIZE_MAX);
    cr_assert_null(arena_try_alloc(&arena, 161));
    cr_assert_not_null(arena_try_alloc(&arena, 160));
    arena_close(&arena);
}

Test(arena, copies_keep_null_and_empty_apart)
{
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    char text[] = "abc";
    struct span copy = arena_copy(&arena, span_from_cstr(text));
    text[0] = 'x';
    cr_assert(span_equal(copy, SPAN_LITERAL("abc")));
    cr_assert(span_is_null(arena_copy(&arena, SPAN_NULL)));
    cr_assert(span_equal(arena_copy(&arena, SPAN_EMPTY), SPAN_EMPTY));
    arena_close(&arena);
}
