#include "raftlog/hello.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

#include "raftlog/bytes.h"
#include "rpc/ensure.h"

static const uint32_t magic = 0x524c5031; /* "RLP1" */

static const char *const verdict_texts[] = {
    "ok",           "malformed",    "bad-version", "bad-proof", "wrong-cluster",
    "wrong-config", "unknown-node", "wrong-node",
};
_Static_assert(sizeof verdict_texts / sizeof *verdict_texts == HELLO_VERDICTS, "one text each");

const char *hello_verdict_text(enum hello_verdict verdict)
{
    return verdict < HELLO_VERDICTS ? verdict_texts[verdict] : "unknown";
}

void hello_encode_opening(const struct hello_opening *opening, uint8_t out[HELLO_OPENING_LEN])
{
    const uint8_t head[8] = {(uint8_t)(magic >> 24),
                             (uint8_t)(magic >> 16),
                             (uint8_t)(magic >> 8),
                             (uint8_t)magic,
                             (uint8_t)(opening->version >> 8),
                             (uint8_t)opening->version,
                             (uint8_t)opening->purpose,
                             0};
    memcpy(out, head, sizeof head);
    memcpy(out + sizeof head, opening->nonce, HELLO_NONCE_LEN);
}

enum hello_verdict hello_decode_opening(const uint8_t in[HELLO_OPENING_LEN],
                                        struct hello_opening *opening)
{
    if (bytes_be32(in) != magic) {
        return HELLO_MALFORMED;
    }
    opening->version = bytes_be16(in + 4);
    if (opening->version != HELLO_VERSION) {
        return HELLO_BAD_VERSION;
    }
    if ((in[6] != HELLO_RAFT && in[6] != HELLO_CONTROL) || in[7] != 0) {
        return HELLO_MALFORMED;
    }
    opening->purpose = (enum hello_purpose)in[6];
    memcpy(opening->nonce, in + 8, HELLO_NONCE_LEN);
    return HELLO_OK;
}

static void prove(enum hello_role role,
                  struct span secret,
                  const struct hello_transcript *transcript,
                  struct span message,
                  uint8_t proof[HELLO_PROOF_LEN])
{
    struct buf text = BUF_EMPTY;
    const char *label = role == HELLO_DIALER ? "roster peer dialer\n" : "roster peer acceptor\n";
    buf_append(&text, label, strlen(label));
    buf_append(&text, transcript->dialer, HELLO_OPENING_LEN);
    buf_append(&text, transcript->acceptor, HELLO_OPENING_LEN);
    if (role == HELLO_ACCEPTOR) {
        buf_put_be32(&text, (uint32_t)transcript->message.len);
        buf_append(&text, transcript->message.data, transcript->message.len);
    }
    buf_append(&text, message.data, message.len);
    unsigned len = 0;
    ensure(HMAC(EVP_sha256(), secret.data, (int)secret.len, text.data, text.len, proof, &len) !=
           NULL);
    ensure(len == HELLO_PROOF_LEN);
    buf_close(&text);
}

static void put_fields(const struct hello *hello, struct buf *out)
{
    buf_put_be64(out, hello->node_id);
    buf_put_be64(out, hello->peer_id);
    buf_put_be64(out, hello->boot_id);
    buf_put_be64(out, hello->term);
    buf_put_be64(out, hello->last_index);
    buf_put_be64(out, hello->remembered);
    buf_put_be64(out, (uint64_t)hello->wall_ms);
    buf_put_u8(out, (uint8_t)hello->standing);
    buf_append(out, hello->config_hash, HELLO_HASH_LEN);
    buf_put_be16(out, (uint16_t)hello->cluster_id.len);
    buf_append(out, hello->cluster_id.data, hello->cluster_id.len);
    buf_put_be16(out, (uint16_t)hello->card.len);
    buf_append(out, hello->card.data, hello->card.len);
}

enum { FIXED_LEN = 7 * 8 + 1 + HELLO_HASH_LEN };

static bool take_span(struct span *rest, size_t max, struct span *out)
{
    if (rest->len < 2) {
        return false;
    }
    size_t len = bytes_be16(rest->data);
    if (len > max || rest->len - 2 < len) {
        return false;
    }
    *out = span_of(rest->data + 2, len);
    *rest = span_of(rest->data + 2 + len, rest->len - 2 - len);
    return true;
}

static bool take_fields(struct span in, struct hello *hello)
{
    if (in.len < FIXED_LEN || in.data[56] >= HELLO_STANDINGS) {
        return false;
    }
    const uint8_t *at = in.data;
    *hello = (struct hello){.node_id = bytes_be64(at),
                            .peer_id = bytes_be64(at + 8),
                            .boot_id = bytes_be64(at + 16),
                            .term = bytes_be64(at + 24),
                            .last_index = bytes_be64(at + 32),
                            .remembered = bytes_be64(at + 40),
                            .wall_ms = (int64_t)bytes_be64(at + 48),
                            .standing = (enum hello_standing)at[56]};
    memcpy(hello->config_hash, at + 57, HELLO_HASH_LEN);
    struct span rest = span_of(at + FIXED_LEN, in.len - FIXED_LEN);
    return take_span(&rest, HELLO_CLUSTER_ID_MAX, &hello->cluster_id) &&
           take_span(&rest, HELLO_CARD_MAX, &hello->card) && rest.len == 0;
}

void hello_encode(enum hello_role role,
                  struct span secret,
                  const struct hello_transcript *transcript,
                  enum hello_verdict verdict,
                  const struct hello *hello,
                  struct buf *out)
{
    size_t start = out->len;
    buf_put_be32(out, 0);
    buf_put_u8(out, (uint8_t)verdict);
    if (verdict == HELLO_OK) {
        ensure(hello->card.len <= HELLO_CARD_MAX && hello->cluster_id.len <= HELLO_CLUSTER_ID_MAX);
        put_fields(hello, out);
    }
    uint8_t proof[HELLO_PROOF_LEN];
    prove(role, secret, transcript, span_of(out->data + start + 4, out->len - start - 4), proof);
    buf_append(out, proof, sizeof proof);
    buf_set_be32(out, start, (uint32_t)(out->len - start - 4));
}

enum hello_verdict hello_decode(enum hello_role sender,
                                struct span secret,
                                const struct hello_transcript *transcript,
                                struct span message,
                                struct hello *hello,
                                enum hello_verdict *said)
{
    *said = HELLO_OK;
    *hello = (struct hello){.node_id = 0};
    if (message.len < 1 + HELLO_PROOF_LEN || message.len > HELLO_MESSAGE_MAX) {
        return HELLO_MALFORMED;
    }
    size_t len = message.len - HELLO_PROOF_LEN;
    uint8_t proof[HELLO_PROOF_LEN];
    prove(sender, secret, transcript, span_of(message.data, len), proof);
    if (CRYPTO_memcmp(proof, message.data + len, HELLO_PROOF_LEN) != 0) {
        return HELLO_BAD_PROOF;
    }
    if (message.data[0] >= HELLO_VERDICTS) {
        return HELLO_MALFORMED;
    }
    *said = (enum hello_verdict)message.data[0];
    if (*said != HELLO_OK) {
        return len == 1 ? HELLO_OK : HELLO_MALFORMED;
    }
    return take_fields(span_of(message.data + 1, len - 1), hello) ? HELLO_OK : HELLO_MALFORMED;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void hello_config_hash(const char *cluster_id,
                       const uint64_t *ids,
                       size_t ids_count,
                       uint8_t hash[HELLO_HASH_LEN])
{
    uint64_t *sorted = malloc((ids_count + 1) * sizeof *sorted);
    ensure(sorted != NULL);
    memcpy(sorted, ids, ids_count * sizeof *sorted);
    qsort(sorted, ids_count, sizeof *sorted, by_value);
    struct buf text = BUF_EMPTY;
    buf_append(&text, cluster_id, strlen(cluster_id) + 1);
    for (size_t i = 0; i < ids_count; i++) {
        buf_put_be64(&text, sorted[i]);
    }
    unsigned len = 0;
    ensure(EVP_Digest(text.data, text.len, hash, &len, EVP_sha256(), NULL) == 1);
    ensure(len == HELLO_HASH_LEN);
    buf_close(&text);
    free(sorted);
}
