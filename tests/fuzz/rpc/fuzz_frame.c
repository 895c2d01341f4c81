/* Any bytes as what a connection receives: frames, headers and requests until the bytes end or a
 * frame says that the connection must close. */
#include "rpc/ensure.h"
#include "rpc/frame.h"

enum { FRAME_BYTES_MAX = 65536, ARENA_BYTES = 4 * 1024 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The status may not depend on how the bytes arrive: every shorter piece is incomplete, and says no
 * more to be missing than is. */
static void check_pieces(struct span bytes, size_t whole)
{
    for (size_t n = 0; n < whole; n += n < 8 ? 1 : (whole - n + 1) / 2) {
        struct frame frame;
        ensure(frame_parse(span_of(bytes.data, n), FRAME_BYTES_MAX, &frame) == FRAME_INCOMPLETE);
        ensure(frame.missing >= 1 && frame.missing <= whole - n);
    }
}

/* True if the connection would stay open. */
static bool take_request(struct span content, struct arena *arena)
{
    struct reader r = reader_of(content);
    struct request_header header;
    const struct api *api;
    enum codec_error error = frame_read_header(&r, &header, &api);
    ensure(!span_is_null(header.client_id));
    ensure((api == NULL) ==
           (error == CODEC_UNKNOWN_API || (error == CODEC_MALFORMED && content.len < 8)));
    if (error == CODEC_OK) {
        void *request = arena_alloc(arena, api->request()->size);
        error = codec_decode(api->request(), header.api_version, &r, arena, request);
        ensure(error != CODEC_UNSUPPORTED_VERSION);
        arena_reset(arena, SIZE_MAX);
    }
    return error == CODEC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    struct span rest = span_of(data, size);
    struct frame frame;
    while (frame_parse(rest, FRAME_BYTES_MAX, &frame) == FRAME_COMPLETE) {
        size_t whole = FRAME_PREFIX_BYTES + frame.size;
        ensure(frame.size > 0 && whole <= rest.len);
        ensure(frame.content.data == rest.data + FRAME_PREFIX_BYTES);
        check_pieces(rest, whole);
        if (!take_request(frame.content, &arena)) {
            break;
        }
        rest = span_of(rest.data + whole, rest.len - whole);
    }
    arena_close(&arena);
    return 0;
}
