#include "server/core/node.h"

#include <stdlib.h>

#include "rpc/ensure.h"
#include "rpc/reader.h"
#include "server/core/hash.h"
#include "server/core/state_internal.h"

enum { CARD_VERSION = 0, PORT_MAX = 65535 };

void node_encode_card(const struct node *node, struct buf *out)
{
    ensure(node->listeners_count >= 0 && node->listeners_count <= NODE_LISTENERS_MAX);
    buf_put_u8(out, CARD_VERSION);
    buf_put_span(out, node->rack);
    buf_put_uvarint(out, (uint64_t)node->listeners_count);
    for (int32_t i = 0; i < node->listeners_count; i++) {
        buf_put_span(out, node->listeners[i].name);
        buf_put_span(out, node->listeners[i].host);
        buf_put_uvarint(out, (uint64_t)node->listeners[i].port);
    }
}

static struct span read_text(struct reader *r, bool is_needed)
{
    struct span text = reader_span(r);
    if (text.len > NODE_NAME_BYTES_MAX || (is_needed && text.len == 0)) {
        reader_fail(r);
    }
    return text;
}

/* The fields borrow from the reader's bytes. */
static void read_card(struct reader *r, struct node *node, struct node_listener *listeners)
{
    if (reader_u8(r) != CARD_VERSION) {
        reader_fail(r);
    }
    node->rack = read_text(r, false);
    size_t count = reader_count(r, 3);
    if (count > NODE_LISTENERS_MAX) {
        reader_fail(r);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        listeners[i].name = read_text(r, true);
        listeners[i].host = read_text(r, true);
        uint64_t port = reader_uvarint(r);
        if (port > PORT_MAX) {
            reader_fail(r);
            return;
        }
        listeners[i].port = (int32_t)port;
    }
    node->listeners_count = (int32_t)count;
}

struct node *node_new(uint64_t id, struct span card)
{
    struct node_listener listeners[NODE_LISTENERS_MAX];
    struct node facts = {.id = id};
    struct reader r = reader_of(card);
    if (card.len > NODE_CARD_BYTES_MAX) {
        return NULL;
    }
    read_card(&r, &facts, listeners);
    if (reader_is_failed(&r)) {
        return NULL;
    }
    size_t listeners_size = (size_t)facts.listeners_count * sizeof *listeners;
    struct node *node = memory_new(sizeof *node + listeners_size + card.len);
    uint8_t *bytes = (uint8_t *)(node + 1) + listeners_size;
    memcpy(bytes, card.data, card.len);
    *node = facts;
    node->card = span_of(bytes, card.len);
    node->listeners = (struct node_listener *)(void *)(node + 1);
    /* Once more, now borrowing from the node's own bytes. */
    r = reader_of(node->card);
    read_card(&r, node, node->listeners);
    node->hash = node_hash(node);
    return node;
}

const struct node_listener *node_listener(const struct node *node, struct span name)
{
    for (int32_t i = 0; i < node->listeners_count; i++) {
        if (span_equal(node->listeners[i].name, name)) {
            return &node->listeners[i];
        }
    }
    return NULL;
}

uint64_t node_hash(const struct node *node)
{
    uint64_t hash = hash_begin(7);
    hash = hash_word(hash, node->id);
    hash = hash_span(hash, node->card);
    return hash_end(hash);
}
