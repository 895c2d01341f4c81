#include "raftlog/peer_frame.h"

#include <raft.h>

#include "raftlog/bytes.h"
#include "raftlog/guard.h"
#include "rpc/ensure.h"

enum {
    VOTE_LEN = 40,
    VOTE_RESULT_LEN = 24,
    APPEND_LEN = 48, /* the library counts 8 bytes more than it fills in */
    APPEND_RESULT_LEN = 24,
    INSTALL_LEN = 56, /* likewise */
    TIMEOUT_LEN = 24,
    ENTRY_LEN = 16,
    BARRIER_LEN = 8
};

_Static_assert((int)PEER_FRAME_ENTRIES_MAX == (int)GUARD_CHUNK_ENTRIES_MAX,
               "what is sent must pass");
_Static_assert((int)PEER_FRAME_PAYLOAD_BYTES_MAX == (int)GUARD_CHUNK_BYTES_MAX,
               "what is sent must pass");

static const char *const error_texts[] = {
    "ok",         "bad-type",  "bad-length",        "bad-number",
    "bad-sender", "bad-entry", "bad-configuration", "bad-snapshot",
};
_Static_assert(sizeof error_texts / sizeof *error_texts == PEER_FRAME_ERRORS, "one text each");

const char *peer_frame_error_text(enum peer_frame_error error)
{
    return error < PEER_FRAME_ERRORS ? error_texts[error] : "unknown";
}

void peer_frame_reader_init(struct peer_frame_reader *reader,
                            uint64_t peer_id,
                            struct span configuration)
{
    *reader = (struct peer_frame_reader){.peer_id = peer_id,
                                         .configuration = configuration,
                                         .stage = PEER_FRAME_PREAMBLE,
                                         .message = BUF_EMPTY};
    log_snapshot_check_init(&reader->snapshot);
}

void peer_frame_reader_close(struct peer_frame_reader *reader)
{
    buf_close(&reader->message);
    log_snapshot_check_close(&reader->snapshot);
}

static bool is_number(const uint8_t *at)
{
    return bytes_le64(at) <= PEER_FRAME_NUMBER_MAX;
}

static bool are_numbers(const uint8_t *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_number(at + 8 * i)) {
            return false;
        }
    }
    return true;
}

/* As the library sends it: padded to 8 bytes, with memory that nobody wrote. */
static size_t sent_configuration_len(const struct peer_frame_reader *reader)
{
    return (reader->configuration.len + 7) / 8 * 8;
}

static enum peer_frame_error check_preamble(struct peer_frame_reader *reader)
{
    const uint8_t *at = reader->message.data;
    reader->type = bytes_le64(at);
    uint64_t len = bytes_le64(at + 8);
    reader->header_len = (size_t)len;
    bool is_good = false;
    switch (reader->type) {
        case RAFT_IO_APPEND_ENTRIES:
            is_good = len >= APPEND_LEN && len <= APPEND_LEN + ENTRY_LEN * PEER_FRAME_ENTRIES_MAX &&
                      (len - APPEND_LEN) % ENTRY_LEN == 0;
            break;
        case RAFT_IO_APPEND_ENTRIES_RESULT:
            is_good = len == APPEND_RESULT_LEN;
            break;
        case RAFT_IO_REQUEST_VOTE:
            is_good = len == VOTE_LEN;
            break;
        case RAFT_IO_REQUEST_VOTE_RESULT:
            is_good = len == VOTE_RESULT_LEN;
            break;
        case RAFT_IO_INSTALL_SNAPSHOT:
            is_good = len == INSTALL_LEN + sent_configuration_len(reader);
            break;
        case RAFT_IO_TIMEOUT_NOW:
            is_good = len == TIMEOUT_LEN;
            break;
        default:
            return PEER_FRAME_BAD_TYPE;
    }
    return is_good ? PEER_FRAME_OK : PEER_FRAME_BAD_LENGTH;
}

static bool is_our_configuration(const struct peer_frame_reader *reader, struct span said)
{
    struct span ours = reader->configuration;
    return said.len == sent_configuration_len(reader) &&
           memcmp(said.data, ours.data, ours.len) == 0;
}

/* The entries' heads; sets payload_len. */
static enum peer_frame_error check_append(struct peer_frame_reader *reader, const uint8_t *at)
{
    uint64_t term = bytes_le64(at);
    uint64_t previous_index = bytes_le64(at + 8);
    uint64_t previous_term = bytes_le64(at + 16);
    uint64_t n = bytes_le64(at + 32);
    if (!are_numbers(at, 4) || term == 0 || previous_term > term ||
        (previous_index == 0) != (previous_term == 0)) {
        return PEER_FRAME_BAD_NUMBER;
    }
    if (n > PEER_FRAME_ENTRIES_MAX || reader->header_len != APPEND_LEN + ENTRY_LEN * n) {
        return PEER_FRAME_BAD_LENGTH;
    }
    reader->payload_len = 0;
    uint64_t last_term = previous_term;
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t *entry = at + 40 + ENTRY_LEN * i;
        uint64_t entry_term = bytes_le64(entry);
        uint8_t type = entry[8];
        uint32_t len = bytes_le32(entry + 12);
        if (entry_term < last_term || entry_term == 0 || entry_term > term || type < RAFT_COMMAND ||
            type > RAFT_CHANGE || len == 0 || len % 8 != 0 || len > PEER_FRAME_ENTRY_BYTES_MAX) {
            return PEER_FRAME_BAD_ENTRY;
        }
        if (reader->payload_len >= PEER_FRAME_PAYLOAD_BYTES_MAX) {
            return PEER_FRAME_BAD_LENGTH;
        }
        last_term = entry_term;
        reader->payload_len += len;
    }
    return PEER_FRAME_OK;
}

static enum peer_frame_error check_install(struct peer_frame_reader *reader, const uint8_t *at)
{
    size_t len = sent_configuration_len(reader);
    if (!are_numbers(at, 4) || bytes_le64(at) == 0 || bytes_le64(at + 8) == 0 ||
        bytes_le64(at + 16) == 0 || bytes_le64(at + 16) > bytes_le64(at)) {
        return PEER_FRAME_BAD_NUMBER;
    }
    if (bytes_le64(at + 32) != len || !is_our_configuration(reader, span_of(at + 40, len))) {
        return PEER_FRAME_BAD_CONFIGURATION;
    }
    reader->snapshot_left = bytes_le64(at + 40 + len);
    if (reader->snapshot_left < LOG_SNAPSHOT_HEADER_LEN ||
        reader->snapshot_left > LOG_SNAPSHOT_BYTES_MAX) {
        return PEER_FRAME_BAD_LENGTH;
    }
    log_snapshot_check_close(&reader->snapshot);
    return PEER_FRAME_OK;
}

static enum peer_frame_error check_header(struct peer_frame_reader *reader)
{
    const uint8_t *at = reader->message.data + PEER_FRAME_PREAMBLE_LEN;
    switch (reader->type) {
        case RAFT_IO_APPEND_ENTRIES:
            return check_append(reader, at);
        case RAFT_IO_INSTALL_SNAPSHOT:
            return check_install(reader, at);
        case RAFT_IO_REQUEST_VOTE:
            if (bytes_le64(at + 8) != reader->peer_id) {
                return PEER_FRAME_BAD_SENDER;
            }
            return are_numbers(at, 4) && bytes_le64(at + 32) <= 3 ? PEER_FRAME_OK
                                                                  : PEER_FRAME_BAD_NUMBER;
        case RAFT_IO_REQUEST_VOTE_RESULT:
            return is_number(at) && bytes_le64(at + 8) <= 1 && bytes_le64(at + 16) <= 1
                       ? PEER_FRAME_OK
                       : PEER_FRAME_BAD_NUMBER;
        default: /* results of an append, and the order to stand for election: three numbers */
            return are_numbers(at, 3) ? PEER_FRAME_OK : PEER_FRAME_BAD_NUMBER;
    }
}

/* The entries' contents, now that all is there. */
static enum peer_frame_error check_entries(const struct peer_frame_reader *reader)
{
    const uint8_t *heads = reader->message.data + PEER_FRAME_PREAMBLE_LEN + 40;
    const uint8_t *at = reader->message.data + PEER_FRAME_PREAMBLE_LEN + reader->header_len;
    uint64_t n = bytes_le64(heads - 8);
    for (uint64_t i = 0; i < n; i++) {
        struct span entry = span_of(at, bytes_le32(heads + ENTRY_LEN * i + 12));
        switch (heads[ENTRY_LEN * i + 8]) {
            case RAFT_COMMAND:
                if (batch_check(entry) != BATCH_OK) {
                    return PEER_FRAME_BAD_ENTRY;
                }
                break;
            case RAFT_BARRIER:
                if (entry.len != BARRIER_LEN) {
                    return PEER_FRAME_BAD_ENTRY;
                }
                break;
            default:
                if (!is_our_configuration(reader, entry)) {
                    return PEER_FRAME_BAD_CONFIGURATION;
                }
                break;
        }
        at += entry.len;
    }
    return PEER_FRAME_OK;
}

/* The message passes. */
static void pass(struct peer_frame_reader *reader, struct buf *out)
{
    buf_append(out, reader->message.data, reader->message.len);
    reader->message.len = 0;
    reader->stage = PEER_FRAME_PREAMBLE;
}

/* Takes from [in] until the message is [len] bytes long; whether it is. */
static bool fill(struct peer_frame_reader *reader, size_t len, struct span *in)
{
    size_t n = len - reader->message.len;
    n = n < in->len ? n : in->len;
    buf_append(&reader->message, in->data, n);
    *in = span_of(in->data + n, in->len - n);
    return reader->message.len == len;
}

static enum peer_frame_error end_header(struct peer_frame_reader *reader, struct buf *out)
{
    enum peer_frame_error error = check_header(reader);
    if (error != PEER_FRAME_OK) {
        return error;
    }
    if (reader->type == RAFT_IO_INSTALL_SNAPSHOT) {
        reader->stage = PEER_FRAME_SNAPSHOT;
    } else if (reader->type == RAFT_IO_APPEND_ENTRIES && reader->payload_len > 0) {
        reader->stage = PEER_FRAME_ENTRIES;
    } else {
        pass(reader, out);
    }
    return PEER_FRAME_OK;
}

/* Passes on what is complete: all but the frame that is arriving. */
static enum peer_frame_error feed_snapshot(struct peer_frame_reader *reader,
                                           struct span *in,
                                           struct buf *out)
{
    struct log_snapshot_check *check = &reader->snapshot;
    size_t n = reader->snapshot_left < in->len ? (size_t)reader->snapshot_left : in->len;
    if (!log_snapshot_check_add(check, span_of(in->data, n))) {
        return PEER_FRAME_BAD_SNAPSHOT;
    }
    buf_append(&reader->message, in->data, n);
    *in = span_of(in->data + n, in->len - n);
    reader->snapshot_left -= n;
    if (check->has_header && check->header.len != check->seen + reader->snapshot_left) {
        return PEER_FRAME_BAD_SNAPSHOT;
    }
    if (check->has_header) {
        size_t held = check->pending.len;
        size_t good = reader->message.len - held;
        buf_append(out, reader->message.data, good);
        reader->message.len = held;
        memmove(reader->message.data, reader->message.data + good, held);
    }
    if (reader->snapshot_left == 0) {
        if (!log_snapshot_check_is_done(check)) {
            return PEER_FRAME_BAD_SNAPSHOT;
        }
        reader->stage = PEER_FRAME_PREAMBLE;
    }
    return PEER_FRAME_OK;
}

enum peer_frame_error peer_frame_feed(struct peer_frame_reader *reader,
                                      struct span in,
                                      struct buf *out)
{
    while (in.len > 0) {
        enum peer_frame_error error = PEER_FRAME_OK;
        switch (reader->stage) {
            case PEER_FRAME_PREAMBLE:
                if (fill(reader, PEER_FRAME_PREAMBLE_LEN, &in)) {
                    error = check_preamble(reader);
                    reader->stage = PEER_FRAME_HEADER;
                }
                break;
            case PEER_FRAME_HEADER:
                if (fill(reader, PEER_FRAME_PREAMBLE_LEN + reader->header_len, &in)) {
                    error = end_header(reader, out);
                }
                break;
            case PEER_FRAME_ENTRIES:
                if (fill(reader, PEER_FRAME_PREAMBLE_LEN + reader->header_len + reader->payload_len,
                         &in)) {
                    error = check_entries(reader);
                    if (error == PEER_FRAME_OK) {
                        pass(reader, out);
                    }
                }
                break;
            case PEER_FRAME_SNAPSHOT:
                error = feed_snapshot(reader, &in, out);
                break;
        }
        if (error != PEER_FRAME_OK) {
            return error;
        }
    }
    return PEER_FRAME_OK;
}
