#include "tests/load/directory.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/api.h"
#include "rpc/ensure.h"
#include "tests/load/link.h"

enum { FIND_VERSION = 4, HOST_BYTES_MAX = 64 };

static bool parse_node(const char *text, size_t len, struct sockaddr_in *address)
{
    char host[HOST_BYTES_MAX];
    const char *colon = memchr(text, ':', len);
    if (colon == NULL || (size_t)(colon - text) >= sizeof host) {
        return false;
    }
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    long port = strtol(colon + 1, NULL, 10);
    return port > 0 && port < 65536 && uv_ip4_addr(host, (int)port, address) == 0;
}

bool directory_init(struct directory *directory,
                    uv_loop_t *loop,
                    const char *bootstrap,
                    unsigned timeout_ms)
{
    *directory = (struct directory){.loop = loop, .timeout_ms = timeout_ms};
    for (const char *at = bootstrap; *at != '\0' && directory->nodes_count < DIRECTORY_NODES_MAX;) {
        size_t len = strcspn(at, ",");
        if (!parse_node(at, len, &directory->nodes[directory->nodes_count++].address)) {
            return false;
        }
        at += len + (at[len] == ',');
    }
    return directory->nodes_count > 0;
}

void directory_close(struct directory *directory)
{
    for (int i = 0; i < directory->nodes_count; i++) {
        if (directory->nodes[i].link != NULL) {
            link_close(directory->nodes[i].link);
        }
    }
    for (size_t i = 0; i < directory->idle_count; i++) {
        link_close(directory->idle[i]);
    }
    free(directory->idle);
    *directory = (struct directory){0};
}

/* ---- Questions ---- */

static void tell_address(const struct directory_question *question,
                         const struct find_coordinator_response_coordinator *answer)
{
    char host[HOST_BYTES_MAX];
    struct sockaddr_in address;
    ensure(answer->host.len < sizeof host);
    memcpy(host, answer->host.data, answer->host.len);
    host[answer->host.len] = '\0';
    ensure(uv_ip4_addr(host, answer->port, &address) == 0);
    question->found(question->ctx, 0, &address);
}

static void on_answer(void *ctx, const struct link_outcome *outcome)
{
    struct directory_question *question = ctx;
    if (outcome->end != LINK_REPLY) {
        if (question->node->link == question->link) {
            question->node->link = NULL;
            link_retire(question->link);
        }
        question->found(question->ctx, -1, NULL);
        return;
    }
    const struct find_coordinator_response *response = outcome->response;
    ensure(response->coordinators_count == 1);
    const struct find_coordinator_response_coordinator *answer = &response->coordinators[0];
    if (answer->error_code != 0) {
        question->found(question->ctx, answer->error_code, NULL);
    } else {
        tell_address(question, answer);
    }
}

void directory_ask(struct directory *directory,
                   struct directory_question *question,
                   struct span group)
{
    struct directory_node *node = &directory->nodes[directory->next];
    directory->next = (directory->next + 1) % directory->nodes_count;
    if (node->link == NULL) {
        node->link = link_open(directory->loop, &node->address);
    }
    question->node = node;
    question->link = node->link;
    struct find_coordinator_request request = {
        .coordinator_keys = &group,
        .coordinator_keys_count = 1,
    };
    link_send(node->link, &(struct link_request){
                              .api_key = API_FindCoordinator,
                              .version = FIND_VERSION,
                              .body = &request,
                              .timeout_ms = directory->timeout_ms,
                              .done = on_answer,
                              .ctx = question,
                          });
}

/* ---- Links ---- */

static bool is_same_address(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
    return a->sin_port == b->sin_port && a->sin_addr.s_addr == b->sin_addr.s_addr;
}

struct link *directory_take_link(struct directory *directory, const struct sockaddr_in *address)
{
    while (directory->idle_count > 0) {
        struct link *link = directory->idle[--directory->idle_count];
        if (link_is_up(link) && is_same_address(link_address(link), address)) {
            return link;
        }
        link_close(link);
    }
    return link_open(directory->loop, address);
}

void directory_give_link(struct directory *directory, struct link *link)
{
    if (directory->idle_count == directory->idle_cap) {
        directory->idle_cap = directory->idle_cap * 2 + 64;
        directory->idle = realloc(directory->idle, directory->idle_cap * sizeof *directory->idle);
        ensure(directory->idle != NULL);
    }
    directory->idle[directory->idle_count++] = link;
}
