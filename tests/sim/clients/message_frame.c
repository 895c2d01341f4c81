#include "tests/sim/clients/message_frame.h"

#include <string.h>

#include "rpc/api.h"
#include "rpc/codec.h"
#include "rpc/frame.h"

void message_frame(const struct message *message, struct buf *frame)
{
    const struct call *call = &message->call;
    bool is_flexible = api_is_flexible(api_find(call->api_key), call->api_version);
    size_t start = frame->len;
    buf_put_be32(frame, 0);
    buf_put_be16(frame, (uint16_t)call->api_key);
    buf_put_be16(frame, (uint16_t)call->api_version);
    buf_put_be32(frame, (uint32_t)message->correlation_id);
    buf_put_be16(frame, (uint16_t)call->client_id.len);
    buf_append(frame, call->client_id.data, call->client_id.len);
    if (is_flexible) {
        buf_put_u8(frame, 0);
    }
    if (message->bytes.len > 0) {
        buf_append(frame, message->bytes.data, message->bytes.len);
    }
    buf_set_be32(frame, start, (uint32_t)(frame->len - start - FRAME_PREFIX_BYTES));
}

void *message_read_reply(struct life *life, struct message *message, struct reader *reader)
{
    const struct call *call = &message->call;
    const struct api *api = api_find(call->api_key);
    if (api_is_flexible(api, call->api_version) && reader_u8(reader) != 0) {
        life_fail(life, "a reply's header has tagged fields");
    }
    struct span body = span_of(reader->at, reader_left(reader));
    bool is_made = message->state == MESSAGE_ANSWERED;
    if (is_made && (body.len != message->reply.len ||
                    (body.len > 0 && memcmp(body.data, message->reply.data, body.len) != 0))) {
        life_fail(life, "the reply to API %d (%d) is not the one that its coordinator made",
                  call->api_key, message->correlation_id);
    }
    if (is_made) {
        return message->response;
    }
    if (coordinator_serves(call->api_key)) {
        life_fail(life, "API %d (%d) was answered, but by no coordinator", call->api_key,
                  message->correlation_id);
    }
    struct span copy = arena_copy(&message->arena, body);
    struct reader rest = reader_of(copy);
    void *decoded = arena_alloc(&message->arena, api->response()->size);
    enum codec_error error =
        codec_decode(api->response(), call->api_version, &rest, &message->arena, decoded);
    if (error != CODEC_OK || reader_left(&rest) != 0) {
        life_fail(life, "a reply of API %d v%d does not decode: %s", call->api_key,
                  call->api_version, codec_error_name(error));
    }
    return decoded;
}
