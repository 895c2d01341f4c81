#include "rpc/frame.h"

#include "rpc/ensure.h"
#include "rpc/limits.h"

enum frame_status frame_parse(struct span bytes, size_t size_max, struct frame *frame)
{
    *frame = (struct frame){.content = SPAN_NULL};
    if (bytes.len < FRAME_PREFIX_BYTES) {
        frame->missing = FRAME_PREFIX_BYTES - bytes.len;
        return FRAME_INCOMPLETE;
    }
    struct reader r = reader_of(bytes);
    int32_t size = (int32_t)reader_be32(&r);
    if (size <= 0 || (size_t)size > size_max) {
        return FRAME_INVALID;
    }
    frame->size = (size_t)size;
    if (reader_left(&r) < frame->size) {
        frame->missing = frame->size - reader_left(&r);
        return FRAME_INCOMPLETE;
    }
    frame->content = span_of(r.at, frame->size);
    return FRAME_COMPLETE;
}

/* Never compact, not even in flexible versions, so it is found in every version. */
static struct span read_client_id(struct reader *r)
{
    int16_t n = (int16_t)reader_be16(r);
    if (n < -1) {
        reader_fail(r);
    }
    const uint8_t *bytes = n <= 0 ? NULL : reader_take(r, (size_t)n);
    return bytes == NULL ? SPAN_EMPTY : span_of(bytes, (size_t)n);
}

/* No tagged field of a request header is known to this build. */
static enum codec_error skip_tagged_section(struct reader *r)
{
    uint32_t count = reader_uvarint32(r);
    if (count > RPC_TAGGED_FIELDS_MAX) {
        return CODEC_LIMIT;
    }
    int64_t last = -1;
    for (; count > 0; count--) {
        uint32_t tag = reader_uvarint32(r);
        uint32_t size = reader_uvarint32(r);
        if (reader_take(r, size) == NULL || tag <= last) {
            return CODEC_MALFORMED;
        }
        last = tag;
    }
    return reader_is_failed(r) ? CODEC_MALFORMED : CODEC_OK;
}

enum codec_error frame_read_header(struct reader *reader,
                                   struct request_header *header,
                                   const struct api **api)
{
    *api = NULL;
    *header = (struct request_header){
        .api_key = (int16_t)reader_be16(reader),
        .api_version = (int16_t)reader_be16(reader),
        .correlation_id = (int32_t)reader_be32(reader),
        .client_id = SPAN_EMPTY,
    };
    if (reader_is_failed(reader)) {
        return CODEC_MALFORMED;
    }
    *api = api_find(header->api_key);
    if (*api == NULL) {
        return CODEC_UNKNOWN_API;
    }
    header->client_id = read_client_id(reader);
    if (!api_has_version(*api, header->api_version)) {
        return CODEC_UNSUPPORTED_VERSION;
    }
    if (reader_is_failed(reader)) {
        return CODEC_MALFORMED;
    }
    return api_is_flexible(*api, header->api_version) ? skip_tagged_section(reader) : CODEC_OK;
}

size_t frame_begin_response(struct buf *buf,
                            const struct api *api,
                            int version,
                            int32_t correlation_id)
{
    ensure(api_has_version(api, version));
    size_t start = buf->len;
    buf_put_be32(buf, 0);
    buf_put_be32(buf, (uint32_t)correlation_id);
    /* A client that guessed too high a version must be able to read the answer (KIP-511). */
    if (api_is_flexible(api, version) && api->key != API_ApiVersions) {
        buf_put_u8(buf, 0);
    }
    return start;
}

void frame_end_response(struct buf *buf, size_t start)
{
    size_t size = buf->len - start - FRAME_PREFIX_BYTES;
    ensure(size <= INT32_MAX);
    buf_set_be32(buf, start, (uint32_t)size);
}
