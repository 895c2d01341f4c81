#include "server/inbox.h"

#include <string.h>

void inbox_init(struct inbox *inbox)
{
    *inbox = (struct inbox){BUF_EMPTY, 0};
}

void inbox_close(struct inbox *inbox)
{
    buf_close(&inbox->kept);
    inbox->at = 0;
}

static void advance(struct span *chunk, size_t len)
{
    *chunk = span_of(chunk->data + len, chunk->len - len);
}

static struct span unused(const struct inbox *inbox)
{
    return span_of(inbox->kept.data + inbox->at, inbox->kept.len - inbox->at);
}

void inbox_keep(struct inbox *inbox, struct span rest)
{
    buf_append(&inbox->kept, rest.data, rest.len);
}

/* Moves what is unused to the front. */
static void compact(struct inbox *inbox)
{
    if (inbox->at == 0) {
        return;
    }
    struct span rest = unused(inbox);
    memmove(inbox->kept.data, rest.data, rest.len);
    inbox->kept.len = rest.len;
    inbox->at = 0;
}

static enum frame_status next_of_chunk(struct inbox *inbox,
                                       struct span *chunk,
                                       size_t size_max,
                                       struct buf *frame)
{
    struct frame found;
    enum frame_status status = frame_parse(*chunk, size_max, &found);
    if (status == FRAME_COMPLETE) {
        buf_append(frame, chunk->data, FRAME_PREFIX_BYTES + found.size);
        advance(chunk, FRAME_PREFIX_BYTES + found.size);
    } else if (status == FRAME_INCOMPLETE) {
        inbox_keep(inbox, *chunk);
        advance(chunk, chunk->len);
    }
    return status;
}

/* The frame at [at] is complete: the memory changes hands if it holds nothing else. */
static void take_kept(struct inbox *inbox, size_t size, struct buf *frame)
{
    size_t whole = FRAME_PREFIX_BYTES + size;
    if (inbox->at == 0 && inbox->kept.len == whole) {
        struct buf taken = inbox->kept;
        buf_close(frame);
        *frame = taken;
        inbox->kept = BUF_EMPTY;
        return;
    }
    buf_append(frame, inbox->kept.data + inbox->at, whole);
    inbox->at += whole;
    if (inbox_is_empty(inbox)) {
        inbox_close(inbox);
    }
}

enum frame_status inbox_next(struct inbox *inbox,
                             struct span *chunk,
                             size_t size_max,
                             struct buf *frame)
{
    if (inbox_is_empty(inbox)) {
        return next_of_chunk(inbox, chunk, size_max, frame);
    }
    for (;;) {
        struct frame found;
        enum frame_status status = frame_parse(unused(inbox), size_max, &found);
        if (status == FRAME_COMPLETE) {
            take_kept(inbox, found.size, frame);
            return status;
        }
        compact(inbox);
        if (status == FRAME_INVALID || chunk->len == 0) {
            return status;
        }
        size_t more = found.missing < chunk->len ? found.missing : chunk->len;
        inbox_keep(inbox, span_of(chunk->data, more));
        advance(chunk, more);
    }
}
