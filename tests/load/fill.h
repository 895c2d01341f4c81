/* Many groups with many offsets, as fast as the coordinator takes them: simple commits without
 * members, all partitions of a group in one request. Offsets follow from group and partition, so
 * that a later run can check them. */
#ifndef LOAD_FILL_H
#define LOAD_FILL_H

#include <stdbool.h>

#include "tests/load/directory.h"

struct fill_options {
    int groups;
    int partitions; /* of the topic, one offset each */
    int connections;
    bool checks; /* reads them instead */
};

/* False: an error that no retry would mend, or an offset that is not there. */
bool fill_run(struct directory *directory, const struct fill_options *options);

#endif
