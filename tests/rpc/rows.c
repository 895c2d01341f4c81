#include "rows.h"

#include "rpc/schema_words.h"

enum { rows_min = 0, rows_max = 2, rows_flexible = 1 };

#define SCHEMA_ROWS "rows.def"
#include "rpc/schema_tables.h"
