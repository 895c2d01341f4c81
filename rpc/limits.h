/* What one message may cost. Each is checked where the bytes are read, so nothing behind the codec
 * sees more. */
#ifndef RPC_LIMITS_H
#define RPC_LIMITS_H

enum {
    /* The default of the configured limit for one frame, length prefix not counted; Kafka's
     * socket.request.max.bytes. */
    RPC_FRAME_BYTES_DEFAULT = 100 * 1024 * 1024,

    /* Of one string, in either encoding: the classic one cannot say more, and what came in compact
     * must be able to leave in classic. */
    RPC_STRING_BYTES_MAX = 32767,

    /* Of all arrays of one message together. */
    RPC_ELEMENTS_MAX = 1024 * 1024,

    /* In one tagged section, known and unknown together. */
    RPC_TAGGED_FIELDS_MAX = 64,

    /* The usual limit of a call's arena (arena_init()): its decoded arrays. */
    RPC_CALL_ARENA_BYTES = 64 * 1024 * 1024,
};

#endif
