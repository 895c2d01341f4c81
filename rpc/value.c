#include "rpc/value.h"

#include "rpc/ensure.h"

void value_store(enum kafka_kind kind, uint8_t *at, int64_t v)
{
    ensure(kind <= KIND_varint);
    switch (kind) {
        case KIND_bool:
            *(bool *)(void *)at = v != 0;
            break;
        case KIND_i8:
            *(int8_t *)(void *)at = (int8_t)v;
            break;
        case KIND_i16:
            *(int16_t *)(void *)at = (int16_t)v;
            break;
        case KIND_u16:
            *(uint16_t *)(void *)at = (uint16_t)v;
            break;
        case KIND_i32:
            *(int32_t *)(void *)at = (int32_t)v;
            break;
        case KIND_i64:
        case KIND_varint:
            *(int64_t *)(void *)at = v;
            break;
        case KIND_uvarint:
            *(uint64_t *)(void *)at = (uint64_t)v;
            break;
        default:
            break;
    }
}

int64_t value_load(enum kafka_kind kind, const uint8_t *at)
{
    ensure(kind <= KIND_varint);
    switch (kind) {
        case KIND_bool:
            return *(const bool *)(const void *)at;
        case KIND_i8:
            return *(const int8_t *)(const void *)at;
        case KIND_i16:
            return *(const int16_t *)(const void *)at;
        case KIND_u16:
            return *(const uint16_t *)(const void *)at;
        case KIND_i32:
            return *(const int32_t *)(const void *)at;
        case KIND_i64:
        case KIND_varint:
            return *(const int64_t *)(const void *)at;
        case KIND_uvarint:
            return (int64_t)(*(const uint64_t *)(const void *)at);
        default:
            return 0;
    }
}

void value_set_initial(const struct kafka_field *f, uint8_t *out)
{
    uint8_t *at = out + f->offset;
    switch (f->kind) {
        case KIND_string:
        case KIND_bytes:
        case KIND_records:
            *(struct span *)(void *)at = f->initial == 0 ? SPAN_EMPTY : SPAN_NULL;
            break;
        case KIND_uuid:
            memset(at, 0, sizeof(struct uuid));
            break;
        case KIND_array:
        case KIND_list:
            *(void **)(void *)at = NULL;
            *value_count(f, out) = (int32_t)f->initial;
            break;
        case KIND_nested: {
            const struct kafka_schema *part = f->element();
            for (unsigned i = 0; i < part->field_count; i++) {
                value_set_initial(&part->fields[i], at);
            }
            break;
        }
        case KIND_optional:
            *(void **)(void *)at = NULL;
            break;
        default:
            value_store(f->kind, at, f->initial);
            break;
    }
}

bool value_is_initial(const struct kafka_field *f, const uint8_t *in)
{
    const uint8_t *at = in + f->offset;
    switch (f->kind) {
        case KIND_string:
        case KIND_bytes:
        case KIND_records: {
            const struct span *span = (const struct span *)(const void *)at;
            return span_is_null(*span) ? f->initial != 0 : f->initial == 0 && span->len == 0;
        }
        case KIND_uuid:
            return uuid_is_zero(*(const struct uuid *)(const void *)at);
        case KIND_array:
        case KIND_list:
            return value_get_count(f, in) == f->initial;
        case KIND_nested: {
            const struct kafka_schema *part = f->element();
            for (unsigned i = 0; i < part->field_count; i++) {
                if (!value_is_initial(&part->fields[i], at)) {
                    return false;
                }
            }
            return true;
        }
        case KIND_optional:
            return value_pointer(f, in) == NULL;
        default:
            return value_load(f->kind, at) == f->initial;
    }
}
