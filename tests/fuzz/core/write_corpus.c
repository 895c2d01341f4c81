/* Writes the corpora of fuzz_record and fuzz_snapshot: write_corpus tests/fuzz/corpus. */
#include <stdio.h>

#include "rpc/ensure.h"
#include "server/core/state.h"
#include "tests/core/facts/history.h"

static void write_file(const char *folder, const char *name, unsigned n, const struct buf *bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s/history-%u", folder, name, n);
    FILE *out = fopen(path, "wb");
    ensure(out != NULL && fwrite(bytes->data, 1, bytes->len, out) == bytes->len);
    fclose(out);
}

/* Proposals that follow those of fuzz_record's prepared state. */
static void write_records(const char *folder, unsigned n)
{
    struct history history;
    struct state *state = state_new();
    struct buf out = BUF_EMPTY;
    history_init(&history, 7);
    for (int i = 0; i < 120; i++) {
        history_step(&history, state, NULL);
    }
    history.random += n;
    for (int i = 0; i < 12; i++) {
        struct buf records = BUF_EMPTY;
        uint64_t term = history.term;
        history_step(&history, state, &records);
        buf_put_u8(&out, history.term != term);
        buf_put_be16(&out, (uint16_t)records.len);
        buf_append(&out, records.data, records.len);
        buf_close(&records);
    }
    write_file(folder, "record", n, &out);
    buf_close(&out);
    state_free(state);
}

static void write_snapshot(const char *folder, unsigned n)
{
    struct history history;
    struct state *state = state_new();
    struct buf out = BUF_EMPTY;
    history_init(&history, n);
    for (unsigned i = 0; i < 20 * n; i++) {
        history_step(&history, state, NULL);
    }
    void *frozen = state_freeze(state);
    state_encode(frozen, &out);
    state_release(state, frozen);
    write_file(folder, "snapshot", n, &out);
    buf_close(&out);
    state_free(state);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: write_corpus tests/fuzz/corpus\n");
        return 2;
    }
    for (unsigned n = 0; n < 8; n++) {
        write_records(argv[1], n);
        write_snapshot(argv[1], n);
    }
    return 0;
}
