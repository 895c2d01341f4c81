/* Who coordinates, asked for as clients do: FindCoordinator to one node after the other of the
 * bootstrap list, until one names a coordinator.
 *
 * The questions of all members share one connection per node; each member's own requests go over a
 * link of its own, from directory_take_link(). */
#ifndef LOAD_DIRECTORY_H
#define LOAD_DIRECTORY_H

#include <stdbool.h>
#include <uv.h>

#include "rpc/span.h"
#include "tests/load/link.h"

enum { DIRECTORY_NODES_MAX = 8 };

struct directory_node {
    struct sockaddr_in address;
    struct link *link; /* NULL: none open */
};

struct directory {
    uv_loop_t *loop;
    struct directory_node nodes[DIRECTORY_NODES_MAX];
    int nodes_count;
    int next;           /* whom to ask */
    struct link **idle; /* links that nobody uses at the moment */
    size_t idle_count;
    size_t idle_cap;
    unsigned timeout_ms; /* of one question */
};

/* [bootstrap]: "host:port,host:port", hosts as numbers. False: not such a list. */
bool directory_init(struct directory *directory,
                    uv_loop_t *loop,
                    const char *bootstrap,
                    unsigned timeout_ms);
void directory_close(struct directory *directory);

/* [error] 0: the coordinator is at [address]. Otherwise a code of Kafka's, or -1
 * where the node asked did not answer; ask again after a pause. */
typedef void directory_found(void *ctx, int error, const struct sockaddr_in *address);

struct directory_question {
    directory_found *found;
    void *ctx;
    struct directory_node *node; /* that was asked */
    struct link *link;           /* over this link */
};

/* [question] is the caller's and must live until found() was called, which happens later. */
void directory_ask(struct directory *directory,
                   struct directory_question *question,
                   struct span group);

/* An idle link to the address, or a new one. */
struct link *directory_take_link(struct directory *directory, const struct sockaddr_in *address);
/* The link has nothing on it and may be used by others. */
void directory_give_link(struct directory *directory, struct link *link);

#endif
