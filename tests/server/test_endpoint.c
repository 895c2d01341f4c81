#include <criterion/criterion.h>

#include "server/endpoint.h"

static const char *parse(const char *text, struct endpoint *out)
{
    return endpoint_parse(span_from_cstr(text), out);
}

Test(endpoint, hosts_and_ports)
{
    static const struct {
        const char *text, *host;
        uint16_t port;
    } good[] = {
        {"db-1.example:9093", "db-1.example", 9093},
        {"10.0.0.1:1", "10.0.0.1", 1},
        {"[::1]:65535", "::1", 65535},
        {"[fe80::1%eth0]:9092", "fe80::1%eth0", 9092},
        {":9092", "", 9092},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct endpoint at;
        const char *wrong = parse(good[i].text, &at);
        cr_assert_null(wrong, "%s: %s", good[i].text, wrong);
        cr_assert_str_eq(at.host, good[i].host);
        cr_assert_eq(at.port, good[i].port);
    }
}

Test(endpoint, mistakes)
{
    static const char *const bad[] = {
        "",
        "host",
        "host:",
        "host:0",
        "host:65536",
        "host:9x",
        "::1:9092",
        "[::1]",
        "[::1:9092",
        "[::1]9092",
        "a b:9092",
        "host:-1",
        "host:99999999999",
        "h/x:1",
        "[a b]:1",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct endpoint at;
        cr_assert_not_null(parse(bad[i], &at), "%s was accepted", bad[i]);
    }
}

Test(endpoint, host_length)
{
    char text[ENDPOINT_HOST_BYTES + 8];
    struct endpoint at;
    memset(text, 'h', sizeof text);
    memcpy(text + ENDPOINT_HOST_BYTES - 1, ":1", 3);
    cr_assert_null(parse(text, &at));
    memset(text, 'h', sizeof text);
    memcpy(text + ENDPOINT_HOST_BYTES, ":1", 3);
    cr_assert_not_null(parse(text, &at));
}

Test(endpoint, listeners)
{
    struct endpoint_listener at;
    cr_assert_null(endpoint_parse_listener(SPAN_LITERAL("INTERNAL://0.0.0.0:9092"), &at));
    cr_assert_str_eq(at.name, "INTERNAL");
    cr_assert(endpoint_is_any(&at.at));
    cr_assert_null(endpoint_parse_listener(SPAN_LITERAL("EXTERNAL_2://:9094"), &at));
    cr_assert_str_eq(at.at.host, "");
    cr_assert(endpoint_is_any(&at.at));
    cr_assert_null(endpoint_parse_listener(SPAN_LITERAL("A://[::]:1"), &at));
    cr_assert(endpoint_is_any(&at.at));
    cr_assert_null(endpoint_parse_listener(SPAN_LITERAL("A://[::1]:1"), &at));
    cr_assert_not(endpoint_is_any(&at.at));
    static const char *const bad[] = {"://h:1", "A B://h:1", "A:/h:1", "h:1", "A//h:1", ""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_not_null(endpoint_parse_listener(span_from_cstr(bad[i]), &at), "%s", bad[i]);
    }
}

Test(endpoint, peers)
{
    struct endpoint_peer peer;
    cr_assert_null(endpoint_parse_peer(SPAN_LITERAL("3@[fd00::3]:9093"), &peer));
    cr_assert_eq(peer.id, 3);
    cr_assert_str_eq(peer.at.host, "fd00::3");
    cr_assert_null(endpoint_parse_peer(SPAN_LITERAL("2147483647@h:1"), &peer));
    static const char *const bad[] = {"0@h:1", "2147483648@h:1", "h:1",        "@h:1",
                                      "x@h:1", "1@:1",           "1@0.0.0.0:1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_not_null(endpoint_parse_peer(span_from_cstr(bad[i]), &peer), "%s", bad[i]);
    }
}

Test(endpoint, lists)
{
    struct span list = SPAN_LITERAL(" a , b,,c, ");
    static const char *const items[] = {"a", "b", "", "c"};
    struct span item;
    for (size_t i = 0; i < 4; i++) {
        cr_assert(endpoint_next_item(&list, &item));
        cr_assert(span_equal(item, span_from_cstr(items[i])));
    }
    cr_assert_not(endpoint_next_item(&list, &item));
    list = SPAN_LITERAL("  ");
    cr_assert_not(endpoint_next_item(&list, &item));
}
