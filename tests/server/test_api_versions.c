#include <criterion/criterion.h>

#include "rpc/api.h"
#include "rpc/errors.h"
#include "server/api_versions.h"

static struct arena arena;

static const struct api_versions_response *ask(int16_t version, const char *name, const char *soft)
{
    struct api_versions_request request = {.client_software_name = span_from_cstr(name),
                                           .client_software_version = span_from_cstr(soft),
                                           .node_id = -1};
    struct call call = {
        .api_key = API_ApiVersions, .api_version = version, .request = &request, .arena = &arena};
    arena_reset(&arena, 0);
    return api_versions_handle(&call, SPAN_LITERAL("c"), 1);
}

static void set_up(void)
{
    arena_init(&arena, SIZE_MAX);
}

static void tear_down(void)
{
    arena_close(&arena);
}

TestSuite(api_versions, .init = set_up, .fini = tear_down);

Test(api_versions, lists_what_is_advertised)
{
    const struct api_versions_response *response = ask(0, "", "");
    cr_assert_eq(response->error_code, 0);
    int32_t at = 0;
    for (const struct api *api = api_next(NULL); api != NULL; api = api_next(api)) {
        if (api->is_advertised) {
            cr_assert_lt(at, response->api_keys_count);
            cr_assert_eq(response->api_keys[at].api_key, api->key);
            cr_assert_eq(response->api_keys[at].min_version, api->min_version);
            cr_assert_eq(response->api_keys[at].max_version, api->max_version);
            at++;
        }
    }
    cr_assert_eq(at, response->api_keys_count);
}

/* Row 2 of the protocol's behaviours. */
Test(api_versions, software_name_and_version)
{
    static const char *const good[] = {"a", "librdkafka", "apache-kafka-java", "0", "a.b-c"};
    static const char *const bad[] = {"", " ", "a b", "-a", "a-", ".a", "a.", "a_b", "\xc3\xa4"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        cr_assert_eq(ask(3, good[i], "1.0")->error_code, 0, "%s", good[i]);
        cr_assert_eq(ask(4, "a", good[i])->error_code, 0, "%s", good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_eq(ask(3, bad[i], "1.0")->error_code, KAFKA_INVALID_REQUEST, "%s", bad[i]);
        cr_assert_eq(ask(3, "a", bad[i])->error_code, KAFKA_INVALID_REQUEST, "%s", bad[i]);
        cr_assert_eq(ask(3, "a", bad[i])->api_keys_count, 0);
        cr_assert_eq(ask(2, bad[i], bad[i])->error_code, 0);
    }
}

Test(api_versions, unsupported_version_names_its_own_range)
{
    struct call call = {.api_key = API_ApiVersions, .api_version = 0, .arena = &arena};
    const struct api_versions_response *response = api_versions_unsupported(&call);
    cr_assert_eq(response->error_code, KAFKA_UNSUPPORTED_VERSION);
    cr_assert_eq(response->api_keys_count, 1);
    cr_assert_eq(response->api_keys[0].api_key, API_ApiVersions);
    cr_assert_eq(response->api_keys[0].min_version, 0);
    cr_assert_eq(response->api_keys[0].max_version, 5);
}
