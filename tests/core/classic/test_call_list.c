#include <criterion/criterion.h>

#include "server/core/internal.h"

TestSuite(call_list);

Test(call_list, keeps_the_order_of_arrival)
{
    struct call_list list;
    struct call calls[3] = {{0}};
    call_list_init(&list);
    cr_assert_null(call_list_pop(&list));
    for (int i = 0; i < 3; i++) {
        call_list_push(&list, &calls[i]);
    }
    cr_assert_eq(list.count, 3);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(call_list_pop(&list), &calls[i]);
        cr_assert_null(calls[i].link, "in no list any more");
    }
    cr_assert_null(call_list_pop(&list));
    cr_assert_eq(list.count, 0);
}

Test(call_list, gives_up_any_of_them)
{
    for (int gone = 0; gone < 3; gone++) {
        struct call_list list;
        struct call calls[4] = {{0}};
        call_list_init(&list);
        for (int i = 0; i < 3; i++) {
            call_list_push(&list, &calls[i]);
        }
        call_list_remove(&list, &calls[gone]);
        call_list_push(&list, &calls[3]);
        cr_assert_eq(list.count, 3);
        for (int i = 0; i < 4; i++) {
            if (i != gone) {
                cr_assert_eq(call_list_pop(&list), &calls[i], "without %d", gone);
            }
        }
    }
}
