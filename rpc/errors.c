#include "rpc/errors.h"

const char *kafka_error_name(int code)
{
    switch (code) {
#define ERROR(code_, name_) \
    case code_:             \
        return #name_;
#include "rpc/errors.def"
#undef ERROR
        default:
            return "UNLISTED";
    }
}
