/* Which APIs are served, in which versions: the rows of api.def. */
#ifndef RPC_API_H
#define RPC_API_H

#include "rpc/schema.h"

struct api {
    const char *name; /* Kafka's: "JoinGroup" */
    int16_t key;
    int8_t min_version;
    int8_t max_version;
    int8_t flexible_since;
    bool is_advertised; /* listed by ApiVersions */
    const struct kafka_schema *(*request)(void);
    const struct kafka_schema *(*response)(void);
};

/* API_JoinGroup and so on: the name as Kafka spells it. */
enum api_key {
#define API(key_, name_, ...) API_##name_ = (key_),
#define EMBEDDED(...)
#include "rpc/api.def"
#undef API
#undef EMBEDDED
};

/* NULL if no such API is served. */
const struct api *api_find(int key);

/* All APIs by ascending key: NULL gives the first, the last gives NULL. */
const struct api *api_next(const struct api *api);

static inline bool api_has_version(const struct api *api, int version)
{
    return version >= api->min_version && version <= api->max_version;
}

static inline bool api_is_flexible(const struct api *api, int version)
{
    return version >= api->flexible_since;
}

#endif
