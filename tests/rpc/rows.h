#ifndef TESTS_RPC_ROWS_H
#define TESTS_RPC_ROWS_H

#include "rpc/schema.h"

#define SCHEMA_ROWS "rows.def"
#include "rpc/schema_structs.h"

#endif
