// Package worker is what the Go programs share: the talk with the driver, and the application, which
// processes a fake feed of each partition that it owns and commits how far it came (README.md).
package worker

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// unknown is the position of a partition whose committed offset was not told yet.
const unknown = -1

// Fields are what an event carries beside its name.
type Fields map[string]any

// Row is one partition of a commit or a fetch, as the history has it: topic, partition, offset, leader
// epoch, metadata, and for a fetch the error.
type Row []any

// Place is one partition.
type Place struct {
	Topic     string
	Partition int32
}

// Library is the client under test.
type Library interface {
	// Commit commits rows. It calls invoke with the member id and generation of the request just
	// before it is sent; what it returns is ignored where it never did.
	Commit(rows []Row, invoke func(member string, generation int32)) Result
	// Fetch returns what is committed.
	Fetch(places []Place) Result
	Close()
}

// Result is how a call ended. Error: nil, Kafka's code, or a word of the history's.
type Result struct {
	Error any
	Rows  []Row
	Text  string
}

// Worker is the application.
type Worker struct {
	Args    map[string]string
	Name    string
	output  sync.Mutex
	acks    sync.Map // number -> chan struct{}
	numbers int      // guarded by output
	feed    sync.Mutex
	at      map[Place]int64 // the next record of each partition that is owned; guarded by feed
	ops     int             // guarded by feed
	chance  *rand.Rand      // guarded by feed
	library Library
	closing chan struct{}
}

// New reads the arguments, name=value each.
func New() *Worker {
	args := map[string]string{}
	for _, word := range os.Args[1:] {
		name, value, _ := strings.Cut(word, "=")
		args[name] = value
	}
	w := &Worker{Args: args, Name: args["clients"], at: map[Place]int64{}, closing: make(chan struct{})}
	w.chance = rand.New(rand.NewSource(int64(w.Int("seed"))))
	return w
}

// Int is a numeric argument.
func (w *Worker) Int(name string) int {
	value, _ := strconv.Atoi(w.Args[name])
	return value
}

// Milliseconds is an argument that is a time.
func (w *Worker) Milliseconds(name string) time.Duration {
	return time.Duration(w.Int(name)) * time.Millisecond
}

// Version is that of a library, by the path of its module.
func Version(path string) string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == path {
			return module.Version
		}
	}
	return "unknown"
}

// Tell reports an event and goes on.
func (w *Worker) Tell(event string, more Fields) {
	w.output.Lock()
	defer w.output.Unlock()
	w.write(event, more)
}

// Ask reports an event and waits until it stands in the history.
func (w *Worker) Ask(event string, more Fields) {
	heard := make(chan struct{})
	w.output.Lock()
	w.numbers++
	more["ack"] = w.numbers
	w.acks.Store(w.numbers, heard)
	w.write(event, more)
	w.output.Unlock()
	<-heard
}

func (w *Worker) write(event string, more Fields) {
	more["event"], more["who"] = event, w.Name
	text, err := json.Marshal(more)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(text, '\n'))
}

// Partitions lists places by topic.
func Partitions(places []Place) [][]any {
	byTopic := map[string][]int32{}
	for _, place := range places {
		byTopic[place.Topic] = append(byTopic[place.Topic], place.Partition)
	}
	rows := [][]any{}
	for topic, found := range byTopic {
		sort.Slice(found, func(i, j int) bool { return found[i] < found[j] })
		rows = append(rows, []any{topic, found})
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i][0].(string) < rows[j][0].(string) })
	return rows
}

func holding(places []Place, member string, generation int32) Fields {
	return Fields{"parts": Partitions(places), "member": member, "gen": generation}
}

// Assigned takes partitions over; where to begin is asked for when they are worked on.
func (w *Worker) Assigned(places []Place, member string, generation int32) {
	w.feed.Lock()
	defer w.feed.Unlock()
	w.Ask("assigned", holding(places, member, generation))
	for _, place := range places {
		w.at[place] = unknown
	}
}

// find asks where to begin with the partitions of which that is not known.
func (w *Worker) find(places []Place) {
	op := w.begin("fetch", Fields{"parts": pairs(places)})
	result := w.library.Fetch(places)
	w.end(op, result)
	for _, row := range result.Rows {
		w.at[Place{row[0].(string), row[1].(int32)}] = max(row[2].(int64), 0)
	}
}

func pairs(places []Place) [][]any {
	rows := [][]any{}
	for _, place := range places {
		rows = append(rows, []any{place.Topic, place.Partition})
	}
	return rows
}

// Revoked gives partitions back, after what was processed of them is committed.
func (w *Worker) Revoked(places []Place, member string, generation int32) {
	w.feed.Lock()
	defer w.feed.Unlock()
	w.commit(w.owned(places))
	w.forget("revoked", places, member, generation)
}

// Lost is told that partitions belong to somebody else.
func (w *Worker) Lost(places []Place, member string, generation int32) {
	w.feed.Lock()
	defer w.feed.Unlock()
	w.forget("lost", places, member, generation)
}

func (w *Worker) forget(event string, places []Place, member string, generation int32) {
	for _, place := range places {
		delete(w.at, place)
	}
	w.Ask(event, holding(places, member, generation))
}

func (w *Worker) owned(places []Place) []Place {
	found := []Place{}
	for _, place := range places {
		if at, is := w.at[place]; is && at != unknown {
			found = append(found, place)
		}
	}
	return found
}

// work processes some records of every partition that is owned, and commits.
func (w *Worker) work() {
	w.feed.Lock()
	defer w.feed.Unlock()
	lost, all := []Place{}, []Place{}
	for place, at := range w.at {
		all = append(all, place)
		if at == unknown {
			lost = append(lost, place)
		}
	}
	if len(lost) > 0 {
		w.find(lost)
	}
	places := w.owned(all)
	sort.Slice(places, func(i, j int) bool {
		a, b := places[i], places[j]
		return a.Topic < b.Topic || a.Topic == b.Topic && a.Partition < b.Partition
	})
	done := [][]any{}
	for _, place := range places {
		w.at[place] += int64(1 + w.chance.Intn(5))
		done = append(done, []any{place.Topic, place.Partition, w.at[place]})
	}
	if len(done) > 0 {
		w.Ask("processed", Fields{"rows": done})
		w.commit(places)
	}
}

func (w *Worker) commit(places []Place) {
	if len(places) == 0 {
		return
	}
	op := 0
	rows := []Row{}
	for _, place := range places {
		w.ops++
		rows = append(rows, Row{place.Topic, place.Partition, w.at[place], int32(-1), fmt.Sprintf("%s/%d;", w.Name, w.ops)})
	}
	result := w.library.Commit(rows, func(member string, generation int32) {
		if op == 0 {
			op = w.begin("commit", Fields{"parts": rows, "member": member, "gen": generation})
		}
	})
	if op != 0 {
		w.end(op, result)
	}
}

func (w *Worker) begin(f string, more Fields) int {
	w.ops++
	more["op"], more["f"] = w.ops, f
	w.Ask("invoke", more)
	return more["op"].(int)
}

func (w *Worker) end(op int, result Result) {
	w.Tell("done", Fields{"op": op, "error": result.Error, "parts": result.Rows, "text": result.Text})
}

// Start names the library; before it calls back.
func (w *Worker) Start(library Library) {
	w.library = library
}

// Run obeys the driver until it ends or says close. [version]: of the library.
func (w *Worker) Run(version string) {
	w.Tell("ready", Fields{"library": version})
	go w.workForEver()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if words[0] == "ack" {
			number, _ := strconv.Atoi(words[1])
			if heard, is := w.acks.LoadAndDelete(number); is {
				close(heard.(chan struct{}))
			}
		} else {
			go w.close()
		}
	}
}

func (w *Worker) workForEver() {
	for {
		select {
		case <-w.closing:
			return
		case <-time.After(w.Milliseconds("pace_ms")):
			w.work()
		}
	}
}

func (w *Worker) close() {
	close(w.closing)
	w.library.Close()
	w.Tell("closed", Fields{})
	os.Exit(0)
}
