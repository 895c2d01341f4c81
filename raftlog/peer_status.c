#include "raftlog/peer_status.h"

#include "raftlog/bytes.h"
#include "rpc/ensure.h"

enum { CHECKPOINT_LEN = 16, STANDING_AT = 49, LOW_AT = 50, COUNT_AT = 51 };

void peer_status_encode(const struct peer_status *status, struct buf *out)
{
    ensure(status->checkpoints_count <= PEER_STATUS_CHECKPOINTS_MAX);
    size_t start = out->len;
    buf_put_be32(out, 0);
    buf_put_u8(out, (uint8_t)status->kind);
    buf_put_be64(out, status->number);
    buf_put_be64(out, status->term);
    buf_put_be64(out, status->last_index);
    buf_put_be64(out, status->remembered);
    buf_put_be64(out, status->applied_index);
    buf_put_be64(out, (uint64_t)status->wall_ms);
    buf_put_u8(out, (uint8_t)status->standing);
    buf_put_u8(out, status->is_disk_low);
    buf_put_u8(out, status->checkpoints_count);
    for (uint8_t i = 0; i < status->checkpoints_count; i++) {
        buf_put_be64(out, status->checkpoints[i].index);
        buf_put_be64(out, status->checkpoints[i].hash);
    }
    buf_set_be32(out, start, (uint32_t)(out->len - start - 4));
}

bool peer_status_decode(struct span message, struct peer_status *status)
{
    const uint8_t *at = message.data;
    if (message.len < PEER_STATUS_FIXED_LEN ||
        (at[0] != PEER_STATUS_QUESTION && at[0] != PEER_STATUS_ANSWER) ||
        at[STANDING_AT] >= HELLO_STANDINGS || at[LOW_AT] > 1 ||
        at[COUNT_AT] > PEER_STATUS_CHECKPOINTS_MAX ||
        message.len != PEER_STATUS_FIXED_LEN + (size_t)at[COUNT_AT] * CHECKPOINT_LEN) {
        return false;
    }
    *status = (struct peer_status){.kind = (enum peer_status_kind)at[0],
                                   .number = bytes_be64(at + 1),
                                   .term = bytes_be64(at + 9),
                                   .last_index = bytes_be64(at + 17),
                                   .remembered = bytes_be64(at + 25),
                                   .applied_index = bytes_be64(at + 33),
                                   .wall_ms = (int64_t)bytes_be64(at + 41),
                                   .standing = (enum hello_standing)at[STANDING_AT],
                                   .is_disk_low = at[LOW_AT] != 0,
                                   .checkpoints_count = at[COUNT_AT]};
    for (uint8_t i = 0; i < status->checkpoints_count; i++) {
        const uint8_t *from = at + PEER_STATUS_FIXED_LEN + CHECKPOINT_LEN * (size_t)i;
        status->checkpoints[i].index = bytes_be64(from);
        status->checkpoints[i].hash = bytes_be64(from + 8);
    }
    return true;
}
