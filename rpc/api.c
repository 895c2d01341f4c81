#include "rpc/api.h"

enum { NEVER = INT8_MAX };

/* By key; the gaps have no name. */
static const struct api apis[] = {
#define API(key_, name_, prefix_, min_, max_, flexible_, advertised_) \
    [key_] = {.name = #name_,                                         \
              .key = (key_),                                          \
              .min_version = (min_),                                  \
              .max_version = (max_),                                  \
              .flexible_since = (flexible_),                          \
              .is_advertised = (advertised_),                         \
              .request = prefix_##_request_schema,                    \
              .response = prefix_##_response_schema},
#define EMBEDDED(...)
#include "rpc/api.def"
#undef API
#undef EMBEDDED
};

enum { APIS = sizeof apis / sizeof apis[0] };

const struct api *api_find(int key)
{
    return key >= 0 && key < APIS && apis[key].name != NULL ? &apis[key] : NULL;
}

const struct api *api_next(const struct api *api)
{
    for (int key = api == NULL ? 0 : api->key + 1; key < APIS; key++) {
        if (apis[key].name != NULL) {
            return &apis[key];
        }
    }
    return NULL;
}
