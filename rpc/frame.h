/* Frames and headers: what stands around the bodies that codec.h reads and writes.
 *
 *   request    size:i32  api_key:i16 api_version:i16 correlation_id:i32 client_id:string
 *              [tagged fields, if the version is flexible]  body
 *   response   size:i32  correlation_id:i32
 *              [tagged fields, if the version is flexible; never for ApiVersions]  body */
#ifndef RPC_FRAME_H
#define RPC_FRAME_H

#include "rpc/api.h"
#include "rpc/buf.h"
#include "rpc/codec.h"
#include "rpc/reader.h"

/* The length prefix. */
enum { FRAME_PREFIX_BYTES = 4 };

enum frame_status {
    FRAME_COMPLETE,
    FRAME_INCOMPLETE,
    FRAME_INVALID, /* a size of zero or less, or above the limit: close the connection */
};

struct frame {
    struct span content; /* FRAME_COMPLETE: what follows the prefix */
    size_t missing;      /* FRAME_INCOMPLETE: bytes to the end of the frame, or of its prefix while
                            that is not complete; at least 1 */
    size_t size;         /* content's length, as soon as the prefix is there; else 0 */
};

/* Looks at what a connection has not used yet. The next frame starts FRAME_PREFIX_BYTES + size
 * behind [bytes]. Costs the same however much is there. */
enum frame_status frame_parse(struct span bytes, size_t size_max, struct frame *frame);

struct request_header {
    int16_t api_key;
    int16_t api_version;
    int32_t correlation_id;
    struct span client_id; /* borrowed from the frame; null comes as empty */
};

/* Reads a request's header; afterwards the reader is at the body. [api] is set as soon as the key
 * is known to be served, else NULL.
 *
 * CODEC_UNSUPPORTED_VERSION: the header's numbers are set, the client id may be empty and the
 * body is not to be read. If the API is ApiVersions the caller answers in version 0 with error 35
 * and the range of key 18 alone (KIP-511); for any other, as for any other error, it closes. */
enum codec_error frame_read_header(struct reader *reader,
                                   struct request_header *header,
                                   const struct api **api);

/* Starts a response behind what [buf] holds: prefix and header. Returns where it starts, for
 * frame_end_response(), which is called when the body has been appended. */
size_t frame_begin_response(struct buf *buf,
                            const struct api *api,
                            int version,
                            int32_t correlation_id);
void frame_end_response(struct buf *buf, size_t start);

#endif
