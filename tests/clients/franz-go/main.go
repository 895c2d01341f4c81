// A member of a group by franz-go.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const callTimeout = 10 * time.Second

type fields map[string]any

var (
	output         sync.Mutex
	owned          = map[string]bool{} // guarded by output
	polls, records atomic.Int64
)

func emit(event string, more fields) {
	output.Lock()
	defer output.Unlock()
	line := fields{"event": event}
	for name, value := range more {
		line[name] = value
	}
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(text, '\n'))
}

func failure(err error) fields {
	var known *kerr.Error
	if errors.As(err, &known) {
		return fields{"code": known.Code, "text": err.Error()}
	}
	return fields{"code": nil, "text": err.Error()}
}

// reporter makes a callback that reports what it is given and keeps the set of owned partitions.
func reporter(event string, owns bool) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, client *kgo.Client, byTopic map[string][]int32) {
		names := []string{}
		output.Lock()
		for topic, partitions := range byTopic {
			for _, partition := range partitions {
				name := fmt.Sprintf("%s:%d", topic, partition)
				names = append(names, name)
				if owns {
					owned[name] = true
				} else {
					delete(owned, name)
				}
			}
		}
		output.Unlock()
		sort.Strings(names)
		member, generation := client.GroupMetadata()
		emit(event, fields{"partitions": names, "member_id": member, "generation": generation})
	}
}

func place(word string) (string, int32) {
	colon := strings.LastIndexByte(word, ':')
	partition, _ := strconv.Atoi(word[colon+1:])
	return word[:colon], int32(partition)
}

func commit(client *kgo.Client, words []string) (fields, error) {
	asked, offsets := map[string]int64{}, map[string]map[int32]kgo.EpochOffset{}
	for _, word := range words {
		where, value, _ := strings.Cut(word, "=")
		topic, partition := place(where)
		offset, _ := strconv.ParseInt(value, 10, 64)
		asked[where] = offset
		if offsets[topic] == nil {
			offsets[topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[topic][partition] = kgo.EpochOffset{Epoch: -1, Offset: offset}
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	var failed error
	client.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest,
		response *kmsg.OffsetCommitResponse, err error) {
		failed = err
		if err != nil {
			return
		}
		for _, topic := range response.Topics {
			for _, partition := range topic.Partitions {
				if err := kerr.ErrorForCode(partition.ErrorCode); err != nil {
					failed = err
				}
			}
		}
	})
	member, generation := client.GroupMetadata()
	return fields{"offsets": asked, "member_id": member, "generation": generation}, failed
}

func fetch(client *kgo.Client, group string, words []string) (fields, error) {
	request := kmsg.NewPtrOffsetFetchRequest()
	request.Group = group
	byTopic := map[string][]int32{}
	for _, word := range words {
		topic, partition := place(word)
		byTopic[topic] = append(byTopic[topic], partition)
	}
	for name, partitions := range byTopic {
		topic := kmsg.NewOffsetFetchRequestTopic()
		topic.Topic, topic.Partitions = name, partitions
		request.Topics = append(request.Topics, topic)
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	response, err := request.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	if err := kerr.ErrorForCode(response.ErrorCode); err != nil {
		return nil, err
	}
	found := map[string]int64{}
	for _, topic := range response.Topics {
		for _, partition := range topic.Partitions {
			if err := kerr.ErrorForCode(partition.ErrorCode); err != nil {
				return nil, err
			}
			found[fmt.Sprintf("%s:%d", topic.Topic, partition.Partition)] = partition.Offset
		}
	}
	return fields{"offsets": found}, nil
}

func status(client *kgo.Client) fields {
	output.Lock()
	names := []string{}
	for name := range owned {
		names = append(names, name)
	}
	output.Unlock()
	sort.Strings(names)
	member, generation := client.GroupMetadata()
	return fields{"polls": polls.Load(), "records": records.Load(), "owned": names,
		"member_id": member, "generation": generation}
}

func obey(client *kgo.Client, group, line string) {
	words := strings.Fields(line)
	if words[0] == "leave" {
		client.LeaveGroup()
		client.Close()
		emit("left", nil)
		os.Exit(0)
	}
	id, _ := strconv.Atoi(words[1])
	var result fields
	var err error
	switch words[0] {
	case "commit":
		result, err = commit(client, words[2:])
	case "fetch":
		result, err = fetch(client, group, words[2:])
	case "status":
		result = status(client)
	}
	if result == nil {
		result = fields{}
	}
	result["id"] = id
	if err != nil {
		result["error"] = failure(err)
	}
	emit(map[string]string{"commit": "committed", "fetch": "fetched", "status": "status"}[words[0]], result)
}

func milliseconds(text string) time.Duration {
	value, _ := strconv.Atoi(text)
	return time.Duration(value) * time.Millisecond
}

func libraryVersion() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/twmb/franz-go" {
			return module.Version
		}
	}
	return "unknown"
}

func main() {
	args := map[string]string{}
	for _, word := range os.Args[1:] {
		name, value, _ := strings.Cut(word, "=")
		args[name] = value
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(args["bootstrap"], ",")...),
		kgo.ClientID(args["client"]),
		kgo.ConsumerGroup(args["group"]),
		kgo.SessionTimeout(milliseconds(args["session_ms"])),
		kgo.HeartbeatInterval(milliseconds(args["heartbeat_ms"])),
		kgo.DisableAutoCommit(),
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelInfo, nil)),
		kgo.OnPartitionsAssigned(reporter("assigned", true)),
		kgo.OnPartitionsRevoked(reporter("revoked", false)),
		kgo.OnPartitionsLost(reporter("lost", false)),
	}
	if instance, given := args["instance"]; given {
		options = append(options, kgo.InstanceID(instance))
	}
	if age, given := args["metadata_ms"]; given {
		options = append(options, kgo.MetadataMaxAge(milliseconds(age)), kgo.MetadataMinAge(milliseconds(age)/2))
	}
	if pattern, given := args["pattern"]; given {
		options = append(options, kgo.ConsumeRegex(), kgo.ConsumeTopics(pattern))
	} else {
		options = append(options, kgo.ConsumeTopics(strings.Split(args["topics"], ",")...))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		emit("error", failure(err))
		os.Exit(1)
	}
	emit("ready", fields{"library": "franz-go " + libraryVersion()})
	go func() {
		for {
			fetches := client.PollFetches(context.Background())
			if fetches.IsClientClosed() {
				return
			}
			polls.Add(1)
			records.Add(int64(fetches.NumRecords()))
			fetches.EachError(func(_ string, _ int32, err error) { emit("error", failure(err)) })
		}
	}()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		obey(client, args["group"], lines.Text())
	}
}
