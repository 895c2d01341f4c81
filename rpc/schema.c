/* The descriptors of all messages, made from the same rows as their structs. Each message becomes
 * one function, because a block-scope typedef is the only way to hand "the struct these rows
 * describe" to offsetof(). They are named <message>_schema, not schema_*, so that a reader who
 * knows the message knows the name. */
#include "rpc/schema.h"
#include "rpc/schema_words.h"

/* The versions of each message, from its API. */
#define VERSIONS(message_, min_, max_, flexible_) \
    enum { message_##_min = (min_), message_##_max = (max_), message_##_flexible = (flexible_) };
#define API(key_, name_, prefix_, min_, max_, flexible_, advertised_) \
    VERSIONS(prefix_##_request, min_, max_, flexible_)                \
    VERSIONS(prefix_##_response, min_, max_, flexible_)
#define EMBEDDED(message_, min_, max_, flexible_) VERSIONS(message_, min_, max_, flexible_)
#include "rpc/api.def"
#undef API
#undef EMBEDDED

#define SCHEMA_ROWS "rpc/messages/all.def"
#include "rpc/schema_tables.h"
