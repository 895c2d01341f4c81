/* Bytes from a peer against the checks in front of the library. The first byte says in what pieces
 * the rest arrives; what passes must pass again unchanged, in any pieces. */
#include <stdint.h>

#include "raftlog/peer_frame.h"
#include "rpc/ensure.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PEER = 2 };
static const struct span configuration = {(const uint8_t *)"the configuration of 32 bytes...", 32};

static enum peer_frame_error feed(struct span in, size_t piece, struct buf *out)
{
    struct peer_frame_reader reader;
    peer_frame_reader_init(&reader, PEER, configuration);
    enum peer_frame_error error = PEER_FRAME_OK;
    for (size_t at = 0; at < in.len && error == PEER_FRAME_OK; at += piece) {
        size_t n = in.len - at < piece ? in.len - at : piece;
        error = peer_frame_feed(&reader, span_of(in.data + at, n), out);
        ensure(out->len <= at + n); /* nothing is made up */
    }
    peer_frame_reader_close(&reader);
    return error;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct span in = span_of(data + 1, size - 1);
    struct buf out = BUF_EMPTY;
    enum peer_frame_error error = feed(in, (size_t)data[0] + 1, &out);
    ensure(out.len == 0 || memcmp(out.data, in.data, out.len) == 0);
    struct buf again = BUF_EMPTY;
    enum peer_frame_error second = feed(in, in.len == 0 ? 1 : in.len, &again);
    ensure(error == second);
    /* Of a snapshot with a bad frame, more of the good ones pass in small pieces. */
    ensure(again.len <= out.len && (error != PEER_FRAME_OK || again.len == out.len));
    ensure(again.len == 0 || memcmp(again.data, in.data, again.len) == 0);
    buf_close(&again);
    buf_close(&out);
    return 0;
}
