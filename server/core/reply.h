/* Replies: their structs in the call's arena, and errors in the shape of each API and version.
 * reply_error(), reply_error_of_role() and reply_error_of_timeout() stand in internal.h. */
#ifndef SERVER_CORE_REPLY_H
#define SERVER_CORE_REPLY_H

#include "rpc/schema.h"
#include "server/core/call.h"

struct coordinator;

/* A response struct with the defaults of its table; it lives as long as the call. */
void *reply_new(struct call *call, const struct kafka_schema *schema);

/* [count] elements of an array, each with its defaults. */
void *reply_elements(struct call *call, const struct kafka_schema *schema, int32_t count);

/* The log line about a read whose reply would pass LIMIT_REPLY_BYTES. */
void reply_log_refused(struct coordinator *c, const struct call *call, const char *api);

/* Text for an ErrorMessage field, in the call's arena; cut at 500 bytes. */
struct span reply_text(struct call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* For "%.*s" of a span that a client chose: at most 64 bytes of it. */
#define REPLY_SPAN(s) ((int)((s).len < 64 ? (s).len : 64)), (const char *)(s).data

#endif
