#include "raftlog/divergence.h"

#include "rpc/build.h"

enum { SECOND_MS = 1000 };

bool divergence_is_checkpoint(int64_t last_ms, int64_t stamp_ms)
{
    return stamp_ms / SECOND_MS != last_ms / SECOND_MS;
}

void divergence_note_ours(struct divergence *divergence, uint64_t index, uint64_t hash)
{
    divergence->rows[divergence->next] = (struct divergence_row){.index = index, .ours = hash};
    divergence->next = (divergence->next + 1) % DIVERGENCE_KEPT;
}

static struct divergence_row *find_row(struct divergence *divergence, uint64_t index)
{
    for (size_t i = 0; i < DIVERGENCE_KEPT; i++) {
        if (divergence->rows[i].index == index) {
            return &divergence->rows[i];
        }
    }
    return NULL;
}

static void put_other(struct divergence_row *row, uint64_t node_id, uint64_t hash)
{
    size_t i = 0;
    while (i < row->others_count && row->other_ids[i] != node_id) {
        i++;
    }
    if (i == DIVERGENCE_NODES_MAX) {
        return;
    }
    if (i == row->others_count) {
        row->others_count++;
    }
    row->other_ids[i] = node_id;
    row->others[i] = hash;
}

static size_t count_equal(const struct divergence_row *row, uint64_t hash)
{
    size_t n = 0;
    for (size_t i = 0; i < row->others_count; i++) {
        n += row->others[i] == hash;
    }
    return n;
}

enum divergence_verdict divergence_note_other(struct divergence *divergence,
                                              uint64_t node_id,
                                              uint64_t index,
                                              uint64_t hash)
{
    struct divergence_row *row = index == 0 ? NULL : find_row(divergence, index);
    if (row == NULL) {
        return DIVERGENCE_NONE;
    }
    put_other(row, node_id, hash);
    if (hash == row->ours) {
        return DIVERGENCE_NONE;
    }
    size_t with_us = 1 + count_equal(row, row->ours);
    size_t against_us = count_equal(row, hash);
#if ROSTER_BUG == 2221 /* the odd one goes on */
    with_us = SIZE_MAX;
#endif
    if (against_us >= 2 && against_us > with_us) {
        return DIVERGENCE_ODD;
    }
    bool is_news = !row->is_alarmed;
    row->is_alarmed = true;
    return is_news ? DIVERGENCE_ALARM : DIVERGENCE_NONE;
}

void divergence_fill(const struct divergence *divergence, struct peer_status *status)
{
    status->checkpoints_count = 0;
    for (size_t i = 1; i <= PEER_STATUS_CHECKPOINTS_MAX; i++) {
        const struct divergence_row *row =
            &divergence->rows[(divergence->next + DIVERGENCE_KEPT - i) % DIVERGENCE_KEPT];
        if (row->index == 0) {
            return;
        }
        status->checkpoints[status->checkpoints_count++] =
            (struct peer_status_checkpoint){.index = row->index, .hash = row->ours};
    }
}

void divergence_clear(struct divergence *divergence)
{
    *divergence = (struct divergence){.next = 0};
}
