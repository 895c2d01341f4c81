#include "server/api_versions.h"

#include <ctype.h>

#include "rpc/api.h"
#include "rpc/codec.h"
#include "rpc/errors.h"

static void describe(const struct api *api, struct api_versions_response_api_key *out)
{
    codec_set_defaults(api_versions_response_api_key_schema(), out);
    out->api_key = api->key;
    out->min_version = api->min_version;
    out->max_version = api->max_version;
}

static struct api_versions_response *new_response(const struct call *call)
{
    struct api_versions_response *response = arena_alloc(call->arena, sizeof *response);
    codec_set_defaults(api_versions_response_schema(), response);
    return response;
}

static const struct api_versions_response *answer_all(const struct call *call)
{
    struct api_versions_response *response = new_response(call);
    int32_t count = 0;
    for (const struct api *api = api_next(NULL); api != NULL; api = api_next(api)) {
        count += api->is_advertised ? 1 : 0;
    }
    response->api_keys = arena_alloc(call->arena, (size_t)count * sizeof *response->api_keys);
    response->api_keys_count = 0;
    for (const struct api *api = api_next(NULL); api != NULL; api = api_next(api)) {
        if (api->is_advertised) {
            describe(api, &response->api_keys[response->api_keys_count++]);
        }
    }
    return response;
}

/* Letters, digits, '.' and '-'; the first and the last are letter or digit. */
static bool is_software_text(struct span text)
{
    if (text.len == 0 || !isalnum(text.data[0]) || !isalnum(text.data[text.len - 1])) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (!isalnum(text.data[i]) && text.data[i] != '.' && text.data[i] != '-') {
            return false;
        }
    }
    return true;
}

/* Whom the client believes to talk to (v5+): both or neither; a bootstrap connection names none. */
static int16_t check_peer(const struct api_versions_request *request,
                          struct span cluster_id,
                          uint64_t node_id)
{
    bool has_cluster = !span_is_null(request->cluster_id);
    if (has_cluster != (request->node_id != -1)) {
        return KAFKA_INVALID_REQUEST;
    }
    bool is_other = has_cluster && (!span_equal(request->cluster_id, cluster_id) ||
                                    (int64_t)request->node_id != (int64_t)node_id);
    return is_other ? KAFKA_REBOOTSTRAP_REQUIRED : KAFKA_NONE;
}

const struct api_versions_response *api_versions_handle(const struct call *call,
                                                        struct span cluster_id,
                                                        uint64_t node_id)
{
    const struct api_versions_request *request = call->request;
    int16_t error = check_peer(request, cluster_id, node_id);
    if (call->api_version >= 3 && (!is_software_text(request->client_software_name) ||
                                   !is_software_text(request->client_software_version))) {
        error = KAFKA_INVALID_REQUEST;
    }
    if (error != KAFKA_NONE) {
        struct api_versions_response *response = new_response(call);
        response->error_code = error;
        return response;
    }
    return answer_all(call);
}

const struct api_versions_response *api_versions_unsupported(const struct call *call)
{
    struct api_versions_response *response = new_response(call);
    response->error_code = KAFKA_UNSUPPORTED_VERSION;
    response->api_keys = arena_alloc(call->arena, sizeof *response->api_keys);
    response->api_keys_count = 1;
    describe(api_find(API_ApiVersions), &response->api_keys[0]);
    return response;
}
