/* Any bytes as any message: what decodes must encode, to bytes that decode to the same.
 *
 * Input: api key, version, 0 for the request or 1 for the response, then the body. Keys 254 and 255
 * are the messages embedded in JoinGroup and SyncGroup. */
#include "rpc/api.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"

enum { HEAD = 3, ARENA_BYTES = 4 * 1024 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct kafka_schema *choose(uint8_t key, uint8_t direction)
{
    if (key == 255) {
        return consumer_protocol_subscription_schema();
    }
    if (key == 254) {
        return consumer_protocol_assignment_schema();
    }
    const struct api *api = api_find(key);
    if (api == NULL) {
        return NULL;
    }
    return (direction & 1) == 0 ? api->request() : api->response();
}

static void check_round_trip(const struct kafka_schema *schema,
                             int version,
                             const void *message,
                             struct arena *arena)
{
    struct buf once = BUF_EMPTY;
    struct buf twice = BUF_EMPTY;
    codec_encode(schema, version, message, &once);
    struct reader r = reader_of(buf_span(&once));
    void *again = arena_alloc(arena, schema->size);
    enum codec_error error = codec_decode(schema, version, &r, arena, again);
    /* The second copy of the arrays may be one too many for the arena. */
    if (error != CODEC_LIMIT) {
        ensure(error == CODEC_OK);
        ensure(reader_left(&r) == 0);
        codec_encode(schema, version, again, &twice);
        ensure(once.len == twice.len);
        ensure(once.len == 0 || memcmp(once.data, twice.data, once.len) == 0);
    }
    buf_close(&once);
    buf_close(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD) {
        return 0;
    }
    const struct kafka_schema *schema = choose(data[0], data[2]);
    if (schema == NULL) {
        return 0;
    }
    int version = data[1];
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    struct reader r = reader_of(span_of(data + HEAD, size - HEAD));
    void *message = arena_alloc(&arena, schema->size);
    enum codec_error error = codec_decode(schema, version, &r, &arena, message);
    ensure((error == CODEC_UNSUPPORTED_VERSION) ==
           (version < schema->min_version || version > schema->max_version));
    if (error == CODEC_OK) {
        check_round_trip(schema, version, message, &arena);
    }
    arena_close(&arena);
    return 0;
}
