// A member of a group by franz-go.
package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"roster.test/jepsen/clients/worker"
)

const callTimeout = 10 * time.Second

type library struct {
	client *kgo.Client
	group  string
}

func failure(err error) worker.Result {
	var known *kerr.Error
	if errors.As(err, &known) {
		return worker.Result{Error: known.Code, Text: err.Error()}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return worker.Result{Error: "timeout", Text: err.Error()}
	}
	return worker.Result{Error: "exception", Text: err.Error()}
}

func (l *library) Commit(rows []worker.Row, invoke func(string, int32)) worker.Result {
	offsets, texts := map[string]map[int32]kgo.EpochOffset{}, map[worker.Place]string{}
	for _, row := range rows {
		topic, partition := row[0].(string), row[1].(int32)
		if offsets[topic] == nil {
			offsets[topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[topic][partition] = kgo.EpochOffset{Epoch: -1, Offset: row[2].(int64)}
		texts[worker.Place{Topic: topic, Partition: partition}] = row[4].(string)
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	ctx = kgo.PreCommitFnContext(ctx, func(request *kmsg.OffsetCommitRequest) error {
		for i, topic := range request.Topics {
			for j, partition := range topic.Partitions {
				text := texts[worker.Place{Topic: topic.Topic, Partition: partition.Partition}]
				request.Topics[i].Partitions[j].Metadata = &text
			}
		}
		invoke(request.MemberID, request.Generation)
		return nil
	})
	var result worker.Result
	l.client.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest,
		response *kmsg.OffsetCommitResponse, err error) {
		if err != nil {
			result = failure(err)
			return
		}
		for _, topic := range response.Topics {
			for _, partition := range topic.Partitions {
				result.Rows = append(result.Rows, worker.Row{topic.Topic, partition.Partition, partition.ErrorCode})
			}
		}
	})
	return result
}

func (l *library) Fetch(places []worker.Place) worker.Result {
	request := kmsg.NewPtrOffsetFetchRequest()
	request.Group = l.group
	byTopic := map[string][]int32{}
	for _, place := range places {
		byTopic[place.Topic] = append(byTopic[place.Topic], place.Partition)
	}
	for name, partitions := range byTopic {
		topic := kmsg.NewOffsetFetchRequestTopic()
		topic.Topic, topic.Partitions = name, partitions
		request.Topics = append(request.Topics, topic)
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	response, err := request.RequestWith(ctx, l.client)
	if err == nil {
		err = kerr.ErrorForCode(response.ErrorCode)
	}
	if err != nil {
		return failure(err)
	}
	var result worker.Result
	for _, topic := range response.Topics {
		for _, p := range topic.Partitions {
			result.Rows = append(result.Rows, worker.Row{topic.Topic, p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode})
		}
	}
	return result
}

func (l *library) Close() {
	l.client.LeaveGroup()
	l.client.Close()
}

type listener func(context.Context, *kgo.Client, map[string][]int32)

func listen(told func([]worker.Place, string, int32)) listener {
	return func(_ context.Context, client *kgo.Client, byTopic map[string][]int32) {
		places := []worker.Place{}
		for topic, partitions := range byTopic {
			for _, partition := range partitions {
				places = append(places, worker.Place{Topic: topic, Partition: partition})
			}
		}
		member, generation := client.GroupMetadata()
		told(places, member, generation)
	}
}

func main() {
	w := worker.New()
	l := &library{group: w.Args["group"]}
	ready := make(chan struct{})
	later := func(told func([]worker.Place, string, int32)) listener {
		inner := listen(told)
		return func(ctx context.Context, client *kgo.Client, byTopic map[string][]int32) {
			<-ready
			inner(ctx, client, byTopic)
		}
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(w.Args["bootstrap"], ",")...),
		kgo.ClientID(w.Name),
		kgo.ConsumerGroup(w.Args["group"]),
		kgo.ConsumeTopics(strings.Split(w.Args["topics"], ",")...),
		kgo.SessionTimeout(w.Milliseconds("session_ms")),
		kgo.RebalanceTimeout(w.Milliseconds("rebalance_ms")),
		kgo.HeartbeatInterval(w.Milliseconds("heartbeat_ms")),
		kgo.DisableAutoCommit(),
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelInfo, nil)),
		kgo.OnPartitionsAssigned(later(w.Assigned)),
		kgo.OnPartitionsRevoked(later(w.Revoked)),
		kgo.OnPartitionsLost(later(w.Lost)),
	}
	if w.Args["assignor"] == "range" {
		options = append(options, kgo.Balancers(kgo.RangeBalancer()))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		panic(err)
	}
	l.client = client
	go func() {
		for {
			fetches := client.PollFetches(context.Background())
			if fetches.IsClientClosed() {
				return
			}
			fetches.EachError(func(_ string, _ int32, err error) {
				w.Tell("error", worker.Fields{"text": err.Error()})
			})
		}
	}()
	w.Start(l)
	close(ready)
	w.Run("franz-go " + worker.Version("github.com/twmb/franz-go"))
}
