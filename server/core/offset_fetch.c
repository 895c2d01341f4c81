/* OffsetFetch (9), v1-10.
 *
 * Version notes: up to v1 errors stand in each partition, v2-7 at the top, from v8 in each of
 * several groups; v2+ null topics are all; v5 leader epochs; v7 RequireStable, which has nothing to
 * wait for here: there are no transactions, and every read is of the latest committed state; v9
 * member id and epoch, which classic groups ignore; v10 topics by id.
 *
 * A linearizable read: the value is taken when a proposal that was made after the request has been
 * applied (DESIGN section 4), so a deposed leader cannot answer. An unknown topic has no offsets,
 * without an error: the classic Java consumer dies of error 3 here (protocol D.3). The offsets of a
 * topic that was deleted and declared again are another topic's. */
#include "rpc/errors.h"
#include "rpc/schema.h"
#include "server/core/internal.h"
#include "server/core/reply.h"

static void fill_partition(struct offset_fetch_response_partition *partition,
                           const struct group *group,
                           const struct topic *topic,
                           int32_t index)
{
    const struct offset_row *row =
        group == NULL || topic == NULL ? NULL : offsets_find(&group->offsets, topic->id, index);
    partition->partition_index = index;
    partition->committed_offset = row == NULL ? -1 : row->offset;
    partition->committed_leader_epoch = row == NULL ? -1 : row->leader_epoch;
    partition->metadata = row == NULL ? SPAN_EMPTY : offset_row_metadata(row);
}

static void fill_asked(struct coordinator *c,
                       struct call *call,
                       const struct group *group,
                       const struct offset_fetch_request_topic *asked,
                       struct offset_fetch_response_topic *topic)
{
    bool by_id = call->api_version >= 10;
    const struct topic *known = by_id ? state_topic_by_uuid(c->state, &asked->topic_id)
                                      : state_topic(c->state, asked->name);
    topic->name = asked->name;
    topic->topic_id = asked->topic_id;
    topic->partitions_count = asked->partition_indexes_count;
    topic->partitions = reply_elements(call, offset_fetch_response_partition_schema(),
                                       asked->partition_indexes_count);
    for (int32_t k = 0; k < asked->partition_indexes_count; k++) {
        fill_partition(&topic->partitions[k], group, known, asked->partition_indexes[k]);
        if (by_id && known == NULL) {
            topic->partitions[k].error_code = KAFKA_UNKNOWN_TOPIC_ID;
        }
    }
}

/* How many rows from [at] on are of the same topic. */
static uint32_t same_topic(const struct offset_row **rows, uint32_t count, uint32_t at)
{
    uint32_t n = 1;
    while (at + n < count && rows[at + n]->topic == rows[at]->topic) {
        n++;
    }
    return n;
}

/* All offsets of the group but those of topics that are gone. */
static struct offset_fetch_response_topic *fill_all(struct coordinator *c,
                                                    struct call *call,
                                                    const struct group *group,
                                                    int32_t *topics_count)
{
    uint32_t count = group->offsets.count;
    const struct offset_row **rows = offsets_sorted(&group->offsets, call->arena);
    int32_t most = 0;
    for (uint32_t at = 0; at < count; at += same_topic(rows, count, at)) {
        most++;
    }
    struct offset_fetch_response_topic *topics =
        reply_elements(call, offset_fetch_response_topic_schema(), most);
    for (uint32_t at = 0; at < count;) {
        uint32_t n = same_topic(rows, count, at);
        const struct topic *known = state_topic_by_id(c->state, rows[at]->topic);
        if (known != NULL) {
            struct offset_fetch_response_topic *topic = &topics[(*topics_count)++];
            topic->name = known->name;
            topic->topic_id = known->uuid;
            topic->partitions_count = (int32_t)n;
            topic->partitions =
                reply_elements(call, offset_fetch_response_partition_schema(), (int32_t)n);
            for (uint32_t k = 0; k < n; k++) {
                fill_partition(&topic->partitions[k], group, known, rows[at + k]->partition);
            }
        }
        at += n;
    }
    return topics;
}

/* [asked_count] -1: all. */
static struct offset_fetch_response_topic *fill_group(
    struct coordinator *c,
    struct call *call,
    struct span name,
    const struct offset_fetch_request_topic *asked,
    int32_t asked_count,
    int32_t *topics_count)
{
    const struct group_slot *slot = state_group(c->state, name);
    const struct group *group = slot == NULL ? NULL : slot->facts;
    *topics_count = 0;
    if (asked_count < 0) {
        return group == NULL ? NULL : fill_all(c, call, group, topics_count);
    }
    struct offset_fetch_response_topic *topics =
        reply_elements(call, offset_fetch_response_topic_schema(), asked_count);
    for (int32_t i = 0; i < asked_count; i++) {
        fill_asked(c, call, group, &asked[i], &topics[i]);
    }
    *topics_count = asked_count;
    return topics;
}

static void answer(struct coordinator *c, struct call *call)
{
    const struct offset_fetch_request *request = call->request;
    struct offset_fetch_response *response = reply_new(call, offset_fetch_response_schema());
    c->counters.fetches++;
    if (call->api_version < 8) {
        response->topics = fill_group(c, call, request->group_id, request->topics,
                                      request->topics_count, &response->topics_count);
        coordinator_reply(c, call, response);
        return;
    }
    response->groups_count = request->groups_count;
    response->groups =
        reply_elements(call, offset_fetch_response_group_schema(), request->groups_count);
    for (int32_t i = 0; i < request->groups_count; i++) {
        const struct offset_fetch_request_group *asked = &request->groups[i];
        struct offset_fetch_response_group *group = &response->groups[i];
        group->group_id = asked->group_id;
        group->topics = fill_group(c, call, asked->group_id, asked->topics, asked->topics_count,
                                   &group->topics_count);
    }
    coordinator_reply(c, call, response);
}

static void fetch_done(struct coordinator *c,
                       struct proposal *proposal,
                       const struct verdict *verdicts,
                       int count)
{
    (void)verdicts;
    (void)count;
    if (proposal->call != NULL) {
        answer(c, proposal->call);
    }
}

void offset_fetch_handle(struct coordinator *c, struct call *call)
{
#if ROSTER_BUG == 4 /* from local state, which an isolated leader has, too */
    answer(c, call);
    return;
#endif
    struct buf nothing = BUF_EMPTY;
    proposal_make(c, call, &nothing, fetch_done);
}
