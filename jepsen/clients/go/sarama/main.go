// A member of a group by sarama. Membership is its ConsumerGroup's; commits and fetches are requests of
// its own broker connections, sent once each, so that every outcome is known.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"roster.test/jepsen/clients/worker"
)

const pause = 200 * time.Millisecond

type library struct {
	worker *worker.Worker
	client sarama.Client
	group  sarama.ConsumerGroup
	name   string
	// The present session, which ends before its partitions are given back.
	mutex   sync.Mutex
	session sarama.ConsumerGroupSession
	ctx     context.Context
	cancel  context.CancelFunc
	ended   chan struct{}
}

func failure(err error) worker.Result {
	var code sarama.KError
	if errors.As(err, &code) {
		return worker.Result{Error: int(code), Text: err.Error()}
	}
	if os.IsTimeout(err) {
		return worker.Result{Error: "timeout", Text: err.Error()}
	}
	return worker.Result{Error: "exception", Text: err.Error()}
}

func (l *library) coordinator() (*sarama.Broker, error) {
	broker, err := l.client.Coordinator(l.name)
	if err != nil {
		return nil, err
	}
	if is, _ := broker.Connected(); !is {
		broker.Open(l.client.Config())
	}
	return broker, nil
}

// retire forgets a coordinator that cannot be reached or is none.
func (l *library) retire(broker *sarama.Broker, result worker.Result) {
	switch result.Error {
	case "timeout", "exception":
		broker.Close()
		l.client.RefreshCoordinator(l.name)
	case 15, 16:
		l.client.RefreshCoordinator(l.name)
	}
}

func (l *library) failed(broker *sarama.Broker, err error) worker.Result {
	result := failure(err)
	l.retire(broker, result)
	return result
}

func (l *library) Commit(rows []worker.Row, invoke func(string, int32)) worker.Result {
	l.mutex.Lock()
	session := l.session
	l.mutex.Unlock()
	if session == nil {
		return worker.Result{}
	}
	broker, err := l.coordinator()
	if err != nil {
		time.Sleep(pause)
		return failure(err)
	}
	request := &sarama.OffsetCommitRequest{Version: 6, ConsumerGroup: l.name, ConsumerID: session.MemberID(),
		ConsumerGroupGeneration: session.GenerationID()}
	for _, row := range rows {
		request.AddBlockWithLeaderEpoch(row[0].(string), row[1].(int32), row[2].(int64), row[3].(int32), 0, row[4].(string))
	}
	invoke(session.MemberID(), session.GenerationID())
	response, err := broker.CommitOffset(request)
	if err != nil {
		return l.failed(broker, err)
	}
	var result worker.Result
	for topic, partitions := range response.Errors {
		for partition, code := range partitions {
			result.Rows = append(result.Rows, worker.Row{topic, partition, int(code)})
			l.retire(broker, worker.Result{Error: int(code)})
		}
	}
	return result
}

func (l *library) Fetch(places []worker.Place) worker.Result {
	broker, err := l.coordinator()
	if err != nil {
		return failure(err)
	}
	request := &sarama.OffsetFetchRequest{Version: 5, ConsumerGroup: l.name}
	for _, place := range places {
		request.AddPartition(place.Topic, place.Partition)
	}
	response, err := broker.FetchOffset(request)
	if err == nil && response.Err != sarama.ErrNoError {
		err = response.Err
	}
	if err != nil {
		return l.failed(broker, err)
	}
	var result worker.Result
	for topic, partitions := range response.Blocks {
		for partition, block := range partitions {
			result.Rows = append(result.Rows, worker.Row{topic, partition, block.Offset, block.LeaderEpoch, block.Metadata, int(block.Err)})
		}
	}
	return result
}

func (l *library) Close() {
	l.cancel()
	<-l.ended
	l.group.Close()
	l.client.Close()
}

func claims(session sarama.ConsumerGroupSession) []worker.Place {
	places := []worker.Place{}
	for topic, partitions := range session.Claims() {
		for _, partition := range partitions {
			places = append(places, worker.Place{Topic: topic, Partition: partition})
		}
	}
	return places
}

// Setup, Cleanup and ConsumeClaim are sarama's ConsumerGroupHandler.
func (l *library) Setup(session sarama.ConsumerGroupSession) error {
	l.mutex.Lock()
	l.session = session
	l.mutex.Unlock()
	l.worker.Assigned(claims(session), session.MemberID(), session.GenerationID())
	return nil
}

func (l *library) Cleanup(session sarama.ConsumerGroupSession) error {
	l.worker.Revoked(claims(session), session.MemberID(), session.GenerationID())
	l.mutex.Lock()
	l.session = nil
	l.mutex.Unlock()
	return nil
}

func (l *library) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case <-claim.Messages():
		case <-session.Context().Done():
			return nil
		}
	}
}

func (l *library) consume(topics []string) {
	defer close(l.ended)
	for l.ctx.Err() == nil {
		if err := l.group.Consume(l.ctx, topics, l); err != nil && l.ctx.Err() == nil {
			l.worker.Tell("error", worker.Fields{"text": err.Error()})
			time.Sleep(pause)
		}
	}
}

func configuration(w *worker.Worker) *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V2_3_0_0
	config.ClientID = w.Name
	config.Consumer.Group.Session.Timeout = w.Milliseconds("session_ms")
	config.Consumer.Group.Rebalance.Timeout = w.Milliseconds("rebalance_ms")
	config.Consumer.Group.Heartbeat.Interval = w.Milliseconds("heartbeat_ms")
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Return.Errors = true
	config.Net.DialTimeout = 2 * time.Second
	config.Net.ReadTimeout = 8 * time.Second // above what a parked JoinGroup takes
	return config
}

func main() {
	sarama.Logger = log.New(os.Stderr, "", log.LstdFlags|log.Lmicroseconds)
	w := worker.New()
	l := &library{worker: w, name: w.Args["group"], ended: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	var err error
	for l.client == nil {
		l.client, err = sarama.NewClient(strings.Split(w.Args["bootstrap"], ","), configuration(w))
		if err != nil {
			w.Tell("error", worker.Fields{"text": err.Error()})
			l.client = nil
			time.Sleep(pause)
		}
	}
	l.group, err = sarama.NewConsumerGroupFromClient(l.name, l.client)
	if err != nil {
		panic(err)
	}
	go func() {
		for err := range l.group.Errors() {
			w.Tell("error", worker.Fields{"text": err.Error()})
		}
	}()
	started := make(chan struct{})
	go func() {
		<-started
		l.consume(strings.Split(w.Args["topics"], ","))
	}()
	w.Start(l)
	close(started)
	w.Run("sarama " + worker.Version("github.com/IBM/sarama"))
}
