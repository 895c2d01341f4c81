/* Makes descriptors of the rows in the file that SCHEMA_ROWS names, as schema.h describes. Included
 * once, by the source file that owns those rows. */
#include "rpc/schema_words.h"

/* clang-format off */
#define HEAD(name_, min_, max_, flexible_)                                                    \
    const struct kafka_schema *name_##_schema(void)                                           \
    {                                                                                         \
        enum { MIN = (min_), MAX = (max_), FLEXIBLE = (flexible_) };                          \
        typedef struct name_ self;                                                            \
        static const struct kafka_field fields[] = {
#define END(name_)                                                                            \
        };                                                                                    \
        static const struct kafka_schema schema = {                                           \
            .name = #name_,                                                                   \
            .fields = fields,                                                                 \
            .size = sizeof(self),                                                             \
            .field_count = sizeof fields / sizeof fields[0],                                  \
            .min_version = MIN,                                                               \
            .max_version = MAX,                                                               \
            .flexible_since = FLEXIBLE,                                                       \
        };                                                                                    \
        return &schema;                                                                       \
    }
#define MESSAGE(name_) HEAD(name_, name_##_min, name_##_max, name_##_flexible)
#define STRUCT(name_) HEAD(name_, 0, LAST, NEVER)

#define ROW(kind_, item_, name_, tag_, since_, until_, null_, initial_)                       \
    .kind = (kind_), .item_kind = (item_), .since = (since_), .until = (until_),              \
    .nullable_since = (null_), .tag = (tag_), .offset = offsetof(self, name_),                \
    .initial = (initial_), .name = #name_

#define FIELD(kind_, name_, since_, until_, null_, initial_)                                  \
    {ROW(KIND_##kind_, 0, name_, -1, since_, until_, null_, initial_)},
#define TAGGED_FIELD(kind_, name_, tag_, since_, until_, null_, initial_)                     \
    {ROW(KIND_##kind_, 0, name_, tag_, since_, until_, null_, initial_)},
#define LIST(kind_, name_, since_, until_, null_, initial_)                                   \
    {ROW(KIND_list, KIND_##kind_, name_, -1, since_, until_, null_, initial_),                \
     .count_offset = offsetof(self, name_##_count)},
#define ARRAY(type_, name_, ...) TAGGED_ARRAY(type_, name_, -1, __VA_ARGS__)
#define TAGGED_ARRAY(type_, name_, tag_, since_, until_, null_, initial_)                     \
    {ROW(KIND_array, 0, name_, tag_, since_, until_, null_, initial_),                        \
     .count_offset = offsetof(self, name_##_count), .element = type_##_schema},
#define NESTED(type_, name_, ...) TAGGED_NESTED(type_, name_, -1, __VA_ARGS__)
#define TAGGED_NESTED(type_, name_, tag_, since_, until_)                                     \
    {ROW(KIND_nested, 0, name_, tag_, since_, until_, NEVER, 0), .element = type_##_schema},
#define OPTIONAL(type_, name_, since_, until_, null_)                                         \
    {ROW(KIND_optional, 0, name_, -1, since_, until_, null_, NIL), .element = type_##_schema},

#include SCHEMA_ROWS
