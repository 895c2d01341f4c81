/* Every limit of the coordinator: name, default and what happens beyond it. Those that an operator
 * may change are in struct coordinator_limits, with the key of the configuration behind it. */
#ifndef SERVER_CORE_LIMITS_H
#define SERVER_CORE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

enum {
    LIMIT_GROUP_ID_BYTES = 249,       /* longer: INVALID_GROUP_ID */
    LIMIT_CLIENT_ID_BYTES = 255,      /* longer: the member id uses its first bytes */
    LIMIT_INSTANCE_ID_BYTES = 249,    /* longer: INVALID_REQUEST */
    LIMIT_PROTOCOL_TYPE_BYTES = 64,   /* longer: INCONSISTENT_GROUP_PROTOCOL */
    LIMIT_PROTOCOLS = 32,             /* per member; more: INCONSISTENT_GROUP_PROTOCOL */
    LIMIT_TOPIC_NAME_BYTES = 249,     /* longer: INVALID_TOPIC_EXCEPTION */
    LIMIT_PARTITIONS = 100000,        /* per topic; more: INVALID_PARTITIONS */
    LIMIT_PROPOSAL_BYTES = 1 << 20,   /* R8: larger decisions go in chunks */
    LIMIT_CHUNK_BYTES = 256 << 10,    /* of such a chunk */
    LIMIT_WAITING_CALLS = 10000,      /* per group, behind a decision in flight; more: 15 */
    LIMIT_UNSETTLED_CALLS = 20000,    /* between election and barrier; more: 16 */
    LIMIT_NODES = 64,                 /* whose cards are remembered; more: ignored, with a log line */
    LIMIT_EXPIRE_ROWS = 1000,         /* looked at per turn of the sweep: bounded work per tick */
    LIMIT_SLICE_GROUPS = 2000,        /* groups looked at per turn by takeover and sweep */
    LIMIT_MEMBER_BYTES = 768 << 10,   /* one member's protocols, one assignment: they must fit into an
                                       * entry. Joins: 81; SyncGroup: -1 */
    LIMIT_REPLY_BYTES = 64 << 20,     /* about, of one read: what exists may be asked for again and again
                                       * in one request. OffsetFetch: INVALID_REQUEST; DescribeGroups:
                                       * the same for the groups behind it */
    LIMIT_PENDING_MEMBERS = 10000,    /* per group, ids handed out and not used; more: 81 */
    LIMIT_SLICE_MEMBERS = 20000,      /* armed per turn by takeover */
    LIMIT_DEADLINES = 10000,          /* looked at per tick */
    LIMIT_UNHEARD_MS = 5000,          /* R3: how long a takeover waits for a sign of those who may not
                                       * know their ids; clients beat every 3 s */
    LIMIT_RETRY_MS = 100,             /* the log had no room for a decision without a call */
    LIMIT_PROPOSAL_TIMEOUT_MS = 5000, /* R11: a parked call whose proposal did not apply by then */
    LIMIT_NEW_MEMBER_JOIN_MS = 300000 /* a new member parked in a join: removed, answered 25 */
};

struct coordinator_limits {
    int32_t initial_rebalance_delay_ms;   /* group.initial.rebalance.delay.ms */
    int32_t session_timeout_min_ms;       /* group.min.session.timeout.ms */
    int32_t session_timeout_max_ms;       /* group.max.session.timeout.ms */
    int32_t group_size_max;               /* group.max.size: 81 beyond */
    int32_t offset_metadata_bytes_max;    /* offset.metadata.max.bytes: 12 beyond */
    int64_t offsets_retention_ms;         /* offsets.retention.minutes */
    int64_t offsets_check_interval_ms;    /* offsets.retention.check.interval.ms */
    int32_t groups_max;                   /* coordinator.max.groups: POLICY_VIOLATION beyond */
    int32_t topics_max;                   /* coordinator.max.topics: POLICY_VIOLATION beyond */
    int64_t partitions_max;               /* coordinator.max.partitions, of all topics */
    int64_t offsets_max;                  /* coordinator.max.offsets: POLICY_VIOLATION beyond */
    int32_t member_metadata_bytes_max;    /* group.max.member.metadata.bytes, of all protocols */
    int64_t group_metadata_bytes_max;     /* group.max.metadata.bytes, of all members: 81 beyond */
    int32_t election_timeout_ms;          /* how long a call waits for an unsettled leader */
};

#endif
