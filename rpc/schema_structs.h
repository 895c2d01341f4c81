/* Makes C structs of the rows in the file that SCHEMA_ROWS names, as schema.h describes. No guard:
 * each layer includes it once for its own rows. */
/* clang-format off */
#define MESSAGE(name_) struct name_ {
#define STRUCT(name_) struct name_ {
#define FIELD(kind_, name_, ...) KIND_TYPE_##kind_ name_;
#define ARRAY(type_, name_, ...) struct type_ *name_; int32_t name_##_count;
#define LIST(kind_, name_, ...) KIND_TYPE_##kind_ *name_; int32_t name_##_count;
#define NESTED(type_, name_, ...) struct type_ name_;
#define OPTIONAL(type_, name_, ...) struct type_ *name_;
#define TAGGED_FIELD(kind_, name_, ...) KIND_TYPE_##kind_ name_;
#define TAGGED_ARRAY(type_, name_, ...) ARRAY(type_, name_, )
#define TAGGED_NESTED(type_, name_, ...) NESTED(type_, name_, )
#define END(name_) }; const struct kafka_schema *name_##_schema(void);
/* clang-format on */
#include SCHEMA_ROWS
#undef SCHEMA_ROWS
#undef MESSAGE
#undef STRUCT
#undef FIELD
#undef ARRAY
#undef LIST
#undef NESTED
#undef OPTIONAL
#undef TAGGED_FIELD
#undef TAGGED_ARRAY
#undef TAGGED_NESTED
#undef END
