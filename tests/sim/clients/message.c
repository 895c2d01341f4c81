#include <stdlib.h>
#include <string.h>

#include "rpc/api.h"
#include "rpc/codec.h"
#include "rpc/ensure.h"
#include "tests/sim/clients/lane.h"
#include "tests/sim/oracle/machine.h"

struct message *message_alloc(struct life *life, int16_t key, int16_t version, const char *client)
{
    struct message *message = calloc(1, sizeof *message);
    (void)life;
    ensure(message != NULL);
    arena_init(&message->arena, SIZE_MAX);
    message->refs = 1;
    message->call.arena = &message->arena;
    message->call.api_key = key;
    message->call.api_version = version;
    message->call.client_id = arena_copy(&message->arena, span_from_cstr(client));
    return message;
}

/* Not inlined: the compiler cannot count references and warns of what never happens. */
__attribute__((noinline)) void message_unref(struct message *message)
{
    if (--message->refs > 0) {
        return;
    }
    arena_close(&message->arena);
    buf_close(&message->bytes);
    buf_close(&message->reply);
    free(message);
}

static struct span span_of_buf(const struct buf *buf)
{
    return buf->data == NULL ? SPAN_EMPTY : buf_span(buf);
}

static void *decode(struct life *life,
                    struct message *message,
                    const struct kafka_schema *schema,
                    struct span bytes,
                    const char *what)
{
    struct reader reader = reader_of(bytes);
    void *decoded = arena_alloc(&message->arena, schema->size);
    enum codec_error error =
        codec_decode(schema, message->call.api_version, &reader, &message->arena, decoded);
    if (error != CODEC_OK || reader_left(&reader) != 0) {
        life_fail(life, "a %s does not decode: %s", what, codec_error_name(error));
    }
    return decoded;
}

void message_set_request(struct life *life, struct message *message, const void *request)
{
    const struct kafka_schema *schema = api_find(message->call.api_key)->request();
    codec_encode(schema, message->call.api_version, request, &message->bytes);
    message->call.request = decode(life, message, schema, span_of_buf(&message->bytes), "request");
}

void *message_through_bytes(struct life *life,
                            struct message *message,
                            const void *response,
                            struct buf *bytes)
{
    const struct kafka_schema *schema = api_find(message->call.api_key)->response();
    codec_encode(schema, message->call.api_version, response, bytes);
    return decode(life, message, schema, span_of_buf(bytes), "reply");
}

void message_start(struct life *life, struct message *message, const struct machine *machine)
{
    message->state = MESSAGE_STARTED;
    message->refs++;
    message->started_ms = life->now_ms;
    message->pauses_ms = machine->pauses_ms;
    message->next_all = life->started;
    message->link_all = &life->started;
    if (life->started != NULL) {
        life->started->link_all = &message->next_all;
    }
    life->started = message;
    life->calls++;
}

void message_unlink(struct message *message)
{
    if (message->link_all == NULL) {
        return;
    }
    *message->link_all = message->next_all;
    if (message->next_all != NULL) {
        message->next_all->link_all = message->link_all;
    }
    message->link_all = NULL;
}
