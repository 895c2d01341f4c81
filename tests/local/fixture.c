#include "fixture.h"

#include <stdio.h>
#include <string.h>

#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "server/core/record.h"

static void apply(struct fixture *f, enum record_type type, const void *body)
{
    struct buf records = BUF_EMPTY;
    struct verdict verdict = {0};
    record_append(&records, type, body);
    f->index++;
    int count = state_apply(f->state, f->index, 1, 1000, buf_span(&records), &verdict, 1);
    ensure(count == 1 && verdict.error == 0);
    buf_close(&records);
}

static void keep_hint(void *ctx, const char *event, struct span key, const char *text)
{
    struct fixture *f = ctx;
    ensure(text[0] != '\0');
    f->hints++;
    snprintf(f->hint_event, sizeof f->hint_event, "%s", event);
    snprintf(f->hint_key, sizeof f->hint_key, "%.*s", (int)key.len, (const char *)key.data);
}

void fixture_init(struct fixture *f)
{
    *f = (struct fixture){.state = state_new()};
    arena_init(&f->arena, SIZE_MAX);
    f->ctx = (struct local_context){
        .state = f->state,
        .cluster_id = "cluster",
        .node_id = 1,
        .leader_id = 1,
        .listener = SPAN_LITERAL("PLAINTEXT"),
        .hint = keep_hint,
        .hint_ctx = f,
    };
}

void fixture_close(struct fixture *f)
{
    state_free(f->state);
    arena_close(&f->arena);
}

void fixture_node(struct fixture *f, uint64_t id, const char *listener)
{
    char host[32];
    snprintf(host, sizeof host, "host%d", (int)id);
    struct node_listener listeners[] = {{
        .name = span_from_cstr(listener == NULL ? "PLAINTEXT" : listener),
        .host = span_from_cstr(host),
        .port = FIXTURE_PORT,
    }};
    struct node node = {.rack = SPAN_LITERAL("rack"), .listeners = listeners, .listeners_count = 1};
    struct buf card = BUF_EMPTY;
    node_encode_card(&node, &card);
    apply(f, RECORD_NODE, &(struct record_node){.node = id, .card = buf_span(&card)});
    buf_close(&card);
}

struct uuid fixture_uuid(uint8_t mark)
{
    struct uuid uuid;
    memset(uuid.bytes, mark, sizeof uuid.bytes);
    return uuid;
}

void fixture_topic(struct fixture *f, const char *name, int32_t partitions, uint8_t mark)
{
    apply(f, RECORD_TOPIC_CREATED,
          &(struct record_topic_created){
              .name = span_from_cstr(name),
              .uuid = fixture_uuid(mark),
              .partitions = partitions,
          });
}

void fixture_commit(struct fixture *f, const char *topic, int32_t partition, int64_t offset)
{
    struct span group = SPAN_LITERAL("group");
    apply(f, RECORD_GROUP_CREATED, &(struct record_group_created){.name = group});
    struct record_offset row = {.partition = (uint64_t)partition,
                                .offset = offset,
                                .leader_epoch = -1,
                                .commit_ms = -1,
                                .metadata = SPAN_EMPTY};
    apply(f, RECORD_OFFSETS,
          &(struct record_offsets){
              .group = state_group(f->state, group)->facts->id,
              .generation = -1,
              .topic = state_topic(f->state, span_from_cstr(topic))->id,
              .retention_ms = -1,
              .offsets = &row,
              .offsets_count = 1,
          });
}

static const void *through_codec(struct fixture *f,
                                 const struct kafka_schema *schema,
                                 int16_t version,
                                 const void *message)
{
    struct buf bytes = BUF_EMPTY;
    codec_encode(schema, version, message, &bytes);
    struct reader reader = reader_of(arena_copy(&f->arena, buf_span(&bytes)));
    buf_close(&bytes);
    void *out = arena_alloc(&f->arena, schema->size);
    ensure(codec_decode(schema, version, &reader, &f->arena, out) == CODEC_OK);
    ensure(reader_left(&reader) == 0);
    return out;
}

const void *fixture_ask(struct fixture *f,
                        enum api_key api_key,
                        int16_t version,
                        const void *request)
{
    const struct api *api = api_find((int)api_key);
    ensure(local_serves((int16_t)api_key) && api_has_version(api, version));
    struct call call = {
        .api_key = (int16_t)api_key,
        .api_version = version,
        .request = through_codec(f, api->request(), version, request),
        .client_id = SPAN_LITERAL("client"),
        .client_host = SPAN_LITERAL("/127.0.0.1"),
        .arena = &f->arena,
    };
    if (f->entropy != NULL) {
        memcpy(call.entropy, f->entropy, sizeof call.entropy);
    }
    local_handle(&f->ctx, &call, &f->reply);
    return f->reply.response == NULL
               ? NULL
               : through_codec(f, api->response(), version, f->reply.response);
}
