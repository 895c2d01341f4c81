/* The handshake between two nodes, before anything else passes between them. Both prove that they
 * know the shared secret, over fresh nonces of both sides and all fields; a stranger learns nothing
 * and gets nothing through.
 *
 *   dialer -> acceptor   opening: magic "RLP1", u16 version, u8 purpose, u8 0, nonce (32)
 *   acceptor -> dialer   the same form
 *   dialer -> acceptor   u32 length, u8 0, fields, proof (32)
 *   acceptor -> dialer   u32 length, u8 verdict, fields if that is 0, proof (32)
 *
 * proof = HMAC-SHA256(secret, label of the direction, both openings, the dialer's message if this
 * is the acceptor's, what is in front of the proof). All numbers are big-endian.
 *
 * Pure but for the digest (OpenSSL's libcrypto): time and nonces come in. */
#ifndef RAFTLOG_HELLO_H
#define RAFTLOG_HELLO_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/buf.h"
#include "rpc/span.h"

enum {
    HELLO_VERSION = 1,
    HELLO_NONCE_LEN = 32,
    HELLO_PROOF_LEN = 32,
    HELLO_HASH_LEN = 32,
    HELLO_OPENING_LEN = 40,
    HELLO_CLUSTER_ID_MAX = 255,
    HELLO_CARD_MAX = 16384,
    HELLO_MESSAGE_MAX = HELLO_CARD_MAX + 1024, /* behind its length */
};

enum hello_purpose {
    HELLO_RAFT = 1,   /* the library's messages, from the dialer to the acceptor */
    HELLO_CONTROL = 2 /* questions and answers (status.h) */
};

enum hello_role { HELLO_DIALER, HELLO_ACCEPTOR };

enum hello_verdict {
    HELLO_OK = 0,
    HELLO_MALFORMED, /* not our protocol, or not well-formed */
    HELLO_BAD_VERSION,
    HELLO_BAD_PROOF,     /* another secret, or none */
    HELLO_WRONG_CLUSTER, /* another cluster id */
    HELLO_WRONG_CONFIG,  /* another list of voters */
    HELLO_UNKNOWN_NODE,  /* an id that is not among the peers, or our own */
    HELLO_WRONG_NODE,    /* the dialer wanted somebody else */
    HELLO_VERDICTS
};
const char *hello_verdict_text(enum hello_verdict verdict);

/* How a node stands to the cluster, for bootstrap and rejoin (startup.h). */
enum hello_standing {
    HELLO_PRISTINE = 0,  /* nothing on its disk */
    HELLO_FRESH = 1,     /* bootstrapped, not started */
    HELLO_VOTER = 2,     /* may vote */
    HELLO_REJOINING = 3, /* its disk was lost; catches up */
    HELLO_STANDINGS
};

/* What both sides say. Spans borrow. */
struct hello {
    uint64_t node_id; /* who speaks */
    uint64_t peer_id; /* to whom, as far as it knows */
    uint64_t boot_id; /* random, of this process */
    uint64_t term;
    uint64_t last_index; /* the library's, on disk */
    uint64_t remembered; /* the index up to which it knows the other to have stored committed
                          * entries; the other's log must not be shorter (R18) */
    int64_t wall_ms;
    enum hello_standing standing;
    uint8_t config_hash[HELLO_HASH_LEN];
    struct span cluster_id;
    struct span card;
};

struct hello_opening {
    uint16_t version;
    enum hello_purpose purpose;
    uint8_t nonce[HELLO_NONCE_LEN];
};

void hello_encode_opening(const struct hello_opening *opening, uint8_t out[HELLO_OPENING_LEN]);
enum hello_verdict hello_decode_opening(const uint8_t in[HELLO_OPENING_LEN],
                                        struct hello_opening *opening);

/* The openings as they passed, and the dialer's message once it did. */
struct hello_transcript {
    uint8_t dialer[HELLO_OPENING_LEN];
    uint8_t acceptor[HELLO_OPENING_LEN];
    struct buf message;
};

/* Appends the message, length included. With a [verdict] other than HELLO_OK, [hello] is not
 * used. */
void hello_encode(enum hello_role role,
                  struct span secret,
                  const struct hello_transcript *transcript,
                  enum hello_verdict verdict,
                  const struct hello *hello,
                  struct buf *out);

/* [message]: behind its length. What the other side says of us is its verdict; if that is not
 * HELLO_OK, [hello] is empty and [said] has it. */
enum hello_verdict hello_decode(enum hello_role sender,
                                struct span secret,
                                const struct hello_transcript *transcript,
                                struct span message,
                                struct hello *hello,
                                enum hello_verdict *said);

/* SHA-256 over the cluster id and the sorted ids of all voters. Host names are left out, so that a
 * node can move to another host while the others run. */
void hello_config_hash(const char *cluster_id,
                       const uint64_t *ids,
                       size_t ids_count,
                       uint8_t hash[HELLO_HASH_LEN]);

#endif
