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
#include "rpc/build.h"
#include "rpc/errors.h"
#include "rpc/schema.h"
#include "server/core/internal.h"
#include "server/core/reply.h"

/* About what they take in the reply, texts apart. */
enum { PARTITION_BYTES = 32, TOPIC_BYTES = 32, GROUP_BYTES = 32 };

/* A reply that is being made. A few bytes of a request ask for kilobytes, so it has a limit. */
struct fetch {
    struct coordinator *c;
    struct call *call;
    int64_t bytes; /* about what it takes so far */
};

static bool is_too_large(const struct fetch *fetch)
{
    return fetch->bytes > LIMIT_REPLY_BYTES;
}

static void fill_partition(struct fetch *fetch,
                           struct offset_fetch_response_partition *partition,
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
    fetch->bytes += PARTITION_BYTES + (int64_t)partition->metadata.len;
}

static void fill_asked(struct fetch *fetch,
                       const struct group *group,
                       const struct offset_fetch_request_topic *asked,
                       struct offset_fetch_response_topic *topic)
{
    bool by_id = fetch->call->api_version >= 10;
    const struct state *state = fetch->c->state;
    const struct topic *known =
        by_id ? state_topic_by_uuid(state, &asked->topic_id) : state_topic(state, asked->name);
    fetch->bytes += TOPIC_BYTES + (int64_t)asked->name.len;
    topic->name = asked->name;
    topic->topic_id = asked->topic_id;
    topic->partitions_count = asked->partition_indexes_count;
    topic->partitions = reply_elements(fetch->call, offset_fetch_response_partition_schema(),
                                       asked->partition_indexes_count);
    for (int32_t k = 0; k < asked->partition_indexes_count && !is_too_large(fetch); k++) {
        fill_partition(fetch, &topic->partitions[k], group, known, asked->partition_indexes[k]);
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
static struct offset_fetch_response_topic *fill_all(struct fetch *fetch,
                                                    const struct group *group,
                                                    int32_t *topics_count)
{
    uint32_t count = group->offsets.count;
    const struct offset_row **rows = offsets_sorted(&group->offsets, fetch->call->arena);
    int32_t most = 0;
    for (uint32_t at = 0; at < count; at += same_topic(rows, count, at)) {
        most++;
    }
    struct offset_fetch_response_topic *topics =
        reply_elements(fetch->call, offset_fetch_response_topic_schema(), most);
    for (uint32_t at = 0; at < count && !is_too_large(fetch);) {
        uint32_t n = same_topic(rows, count, at);
        const struct topic *known = state_topic_by_id(fetch->c->state, rows[at]->topic);
        if (known != NULL) {
            struct offset_fetch_response_topic *topic = &topics[(*topics_count)++];
            fetch->bytes += TOPIC_BYTES + (int64_t)known->name.len;
            topic->name = known->name;
            topic->topic_id = known->uuid;
            topic->partitions_count = (int32_t)n;
            topic->partitions =
                reply_elements(fetch->call, offset_fetch_response_partition_schema(), (int32_t)n);
            for (uint32_t k = 0; k < n; k++) {
                fill_partition(fetch, &topic->partitions[k], group, known, rows[at + k]->partition);
            }
        }
        at += n;
    }
    return topics;
}

/* [asked_count] -1: all. */
static struct offset_fetch_response_topic *fill_group(
    struct fetch *fetch,
    struct span name,
    const struct offset_fetch_request_topic *asked,
    int32_t asked_count,
    int32_t *topics_count)
{
    const struct group_slot *slot = state_group(fetch->c->state, name);
    const struct group *group = slot == NULL ? NULL : slot->facts;
    *topics_count = 0;
    if (asked_count < 0) {
        return group == NULL ? NULL : fill_all(fetch, group, topics_count);
    }
    struct offset_fetch_response_topic *topics =
        reply_elements(fetch->call, offset_fetch_response_topic_schema(), asked_count);
    for (int32_t i = 0; i < asked_count && !is_too_large(fetch); i++) {
        fill_asked(fetch, group, &asked[i], &topics[i]);
    }
    *topics_count = asked_count;
    return topics;
}

static void fill_groups(struct fetch *fetch,
                        const struct offset_fetch_request *request,
                        struct offset_fetch_response *response)
{
    response->groups_count = request->groups_count;
    response->groups =
        reply_elements(fetch->call, offset_fetch_response_group_schema(), request->groups_count);
    for (int32_t i = 0; i < request->groups_count && !is_too_large(fetch); i++) {
        const struct offset_fetch_request_group *asked = &request->groups[i];
        struct offset_fetch_response_group *group = &response->groups[i];
        fetch->bytes += GROUP_BYTES + (int64_t)asked->group_id.len;
        group->group_id = asked->group_id;
        group->topics = fill_group(fetch, asked->group_id, asked->topics, asked->topics_count,
                                   &group->topics_count);
    }
}

static void answer(struct coordinator *c, struct call *call)
{
    const struct offset_fetch_request *request = call->request;
    struct offset_fetch_response *response = reply_new(call, offset_fetch_response_schema());
    struct fetch fetch = {.c = c, .call = call};
    c->counters.fetches++;
    if (call->api_version >= 8) {
        fill_groups(&fetch, request, response);
    } else {
        response->topics = fill_group(&fetch, request->group_id, request->topics,
                                      request->topics_count, &response->topics_count);
    }
    if (is_too_large(&fetch)) {
        c->counters.limit_reply_bytes++;
        reply_log_refused(c, call, "OffsetFetch");
        reply_error(c, call, KAFKA_INVALID_REQUEST);
    } else {
        coordinator_reply(c, call, response);
    }
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
