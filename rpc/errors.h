/* Kafka's error codes, as enum KAFKA_<NAME>: data in responses, nothing that this program returns
 * from its own functions. */
#ifndef RPC_ERRORS_H
#define RPC_ERRORS_H

#include <stdint.h>

enum kafka_error {
#define ERROR(code_, name_) KAFKA_##name_ = (code_),
#include "rpc/errors.def"
#undef ERROR
};

/* "NOT_COORDINATOR"; "UNLISTED" for a code that is none of Kafka's. Never NULL. */
const char *kafka_error_name(int code);

#endif
