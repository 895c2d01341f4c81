/* The short names of fields in transcripts. */
#ifndef TESTS_SCENARIOS_FIELDS_H
#define TESTS_SCENARIOS_FIELDS_H

#include <string.h>

/* "gen" for "generation_id"; the name itself where there is no short one. */
static inline const char *field_short_name(const char *name)
{
    static const char *const names[][2] = {
        {"group_id", "group"},
        {"member_id", "member"},
        {"group_instance_id", "instance"},
        {"generation_id", "gen"},
        {"generation_id_or_member_epoch", "gen"},
        {"protocol_type", "type"},
        {"protocol_name", "protocol"},
        {"session_timeout_ms", "session"},
        {"rebalance_timeout_ms", "rebalance"},
        {"committed_metadata", "meta"},
        {"metadata", "meta"},
        {"committed_offset", "offset"},
        {"committed_leader_epoch", "epoch"},
        {"commit_timestamp", "time"},
        {"retention_time_ms", "retention"},
        {"partition_index", "partition"},
        {"partition_indexes", "partitions"},
        {"topic_id", "id"},
        {"error_code", "error"},
        {"error_message", "message"},
        {"num_partitions", "count"},
        {"replication_factor", "replication"},
        {"groups_names", "groups"},
        {"topic_names", "names"},
        {"states_filter", "states"},
        {"types_filter", "types"},
        {"group_state", "state"},
        {"include_authorized_operations", "operations"},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i][0], name) == 0) {
            return names[i][1];
        }
    }
    return name;
}

#endif
