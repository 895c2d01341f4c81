package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

const forever = math.MaxInt64

type event struct {
	Index   int64           `json:"index"`
	Time    int64           `json:"time"`
	Process json.RawMessage `json:"process"`
	Type    string          `json:"type"`
	F       string          `json:"f"`
	Value   value           `json:"value"`
	Error   json.RawMessage `json:"error"`
}

type value struct {
	Group string            `json:"group"`
	Gen   *int64            `json:"gen"`
	Parts []json.RawMessage `json:"parts"`
}

// An operation of one request; ended is forever while the outcome is unknown.
type request struct {
	call, ended int64
	f, outcome  string
	asked       value
	answered    value
	error       int64
}

// Errors after which a commit has certainly had no effect.
var definite = map[int64]bool{3: true, 12: true, 17: true, 22: true, 23: true, 24: true, 25: true,
	26: true, 28: true, 35: true, 42: true, 44: true, 68: true, 69: true, 79: true, 81: true, 82: true,
	86: true, 100: true, 110: true, 111: true, 113: true}

func readRequests(path string) ([]*request, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	open := map[string]*request{}
	var all []*request
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 1<<20), 1<<28)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			continue // other kinds of events have other values; a torn last line is none
		}
		process := string(e.Process)
		if e.Type == "invoke" {
			open[process] = &request{call: e.Time, ended: forever, f: e.F, outcome: "info", asked: e.Value}
			all = append(all, open[process])
		} else if r := open[process]; r != nil && r.f == e.F {
			delete(open, process)
			r.outcome, r.answered = e.Type, e.Value
			_ = json.Unmarshal(e.Error, &r.error)
			if e.Type != "info" {
				r.ended = e.Time
			}
		}
	}
	return all, lines.Err()
}

// What happened to one (group, topic, partition).
type register struct {
	steps []step
}

type step struct {
	call, ended int64
	do          action
}

func name(group, topic string, partition int64) string {
	return fmt.Sprintf("%s %s/%d", group, topic, partition)
}

func readRegisters(path string) (map[string]*register, error) {
	requests, err := readRequests(path)
	if err != nil {
		return nil, err
	}
	b := builder{registers: map[string]*register{}, ofGroup: map[string][]string{}}
	for _, r := range requests {
		b.declare(r)
	}
	for _, r := range requests {
		b.add(r)
	}
	b.addGenerations(requests)
	return b.registers, nil
}

type builder struct {
	registers map[string]*register
	ofGroup   map[string][]string
}

// The keys of what a request asks for.
func (r *request) keys() []string {
	var keys []string
	for _, raw := range r.asked.Parts {
		topic, partition := place(raw)
		keys = append(keys, name(r.asked.Group, topic, partition))
	}
	return keys
}

func place(raw json.RawMessage) (string, int64) {
	var fields []interface{}
	if json.Unmarshal(raw, &fields) != nil || len(fields) < 2 {
		return "", -1
	}
	topic, _ := fields[0].(string)
	partition, _ := fields[1].(float64)
	return topic, int64(partition)
}

func (b *builder) declare(r *request) {
	if r.f != "commit" && r.f != "fetch" && r.f != "delete_offsets" {
		return
	}
	for _, key := range r.keys() {
		if b.registers[key] == nil {
			b.registers[key] = &register{}
			b.ofGroup[r.asked.Group] = append(b.ofGroup[r.asked.Group], key)
		}
	}
}

func (b *builder) put(key string, r *request, do action) {
	if b.registers[key] == nil {
		b.registers[key] = &register{}
		b.ofGroup[r.asked.Group] = append(b.ofGroup[r.asked.Group], key)
	}
	b.registers[key].steps = append(b.registers[key].steps, step{r.call, r.ended, do})
}

func (b *builder) add(r *request) {
	switch r.f {
	case "commit":
		b.addCommit(r)
	case "fetch":
		if r.outcome == "ok" {
			b.addFetch(r)
		}
	case "delete_offsets":
		errors := errorsOf(r)
		for _, key := range r.keys() {
			if r.outcome != "fail" && !definite[errors[key]] {
				b.put(key, r, action{kind: "delete", sure: r.outcome == "ok" && errors[key] == 0})
			}
		}
	case "delete_group":
		for _, key := range b.ofGroup[r.asked.Group] {
			if r.outcome != "fail" {
				b.put(key, r, action{kind: "delete", whole: true, sure: r.outcome == "ok"})
			}
		}
	}
}

func errorsOf(r *request) map[string]int64 {
	errors := map[string]int64{}
	for _, raw := range r.answered.Parts {
		var fields []interface{}
		if json.Unmarshal(raw, &fields) == nil && len(fields) > 2 {
			topic, partition := place(raw)
			code, _ := fields[len(fields)-1].(float64)
			errors[name(r.asked.Group, topic, partition)] = int64(code)
		}
	}
	return errors
}

func (b *builder) addCommit(r *request) {
	if r.outcome == "fail" {
		return
	}
	errors := errorsOf(r)
	for _, raw := range r.asked.Parts {
		var fields []interface{}
		if json.Unmarshal(raw, &fields) != nil || len(fields) < 5 {
			continue
		}
		topic, partition := place(raw)
		key := name(r.asked.Group, topic, partition)
		if definite[errors[key]] {
			continue
		}
		gen := int64(-1)
		if r.asked.Gen != nil {
			gen = *r.asked.Gen
		}
		b.put(key, r, action{kind: "commit", value: content(fields[2], fields[3], fields[4]), gen: gen,
			sure: r.outcome == "ok" && errors[key] == 0})
	}
}

func (b *builder) addFetch(r *request) {
	listed := map[string]bool{}
	for _, raw := range r.answered.Parts {
		var fields []interface{}
		if json.Unmarshal(raw, &fields) != nil || len(fields) < 6 {
			continue
		}
		topic, partition := place(raw)
		key := name(r.asked.Group, topic, partition)
		listed[key] = true
		if code, _ := fields[5].(float64); code == 0 {
			b.put(key, r, action{kind: "fetch", value: content(fields[2], fields[3], fields[4])})
		}
	}
	if r.asked.Parts == nil {
		for _, key := range append([]string(nil), b.ofGroup[r.asked.Group]...) {
			if !listed[key] {
				b.put(key, r, action{kind: "fetch"})
			}
		}
	}
}

// An offset with its leader epoch and metadata as one string; "" is none.
func content(offset, epoch, metadata interface{}) string {
	o, _ := offset.(float64)
	if o < 0 {
		return ""
	}
	e, is := epoch.(float64)
	if !is || e < 0 {
		e = -1
	}
	m, _ := metadata.(string)
	return fmt.Sprintf("%d %d %s", int64(o), int64(e), m)
}

// A generation begins between the first join that can have caused it and the first ok that knows
// it; and, since generations rise, after the call of every request that an older one answered, and
// before the first ok that knows a newer one.
func (b *builder) addGenerations(requests []*request) {
	type birth struct{ call, seen, last int64 }
	births := map[string]map[int64]birth{}
	lost := map[string]int64{}
	for _, r := range requests {
		if r.f == "join" && r.outcome == "info" {
			if first, known := lost[r.asked.Group]; !known || r.call < first {
				lost[r.asked.Group] = r.call
			}
		}
		gen, known := r.presupposes()
		if !known {
			continue
		}
		if births[r.asked.Group] == nil {
			births[r.asked.Group] = map[int64]birth{}
		}
		now, old := births[r.asked.Group][gen]
		if !old {
			now = birth{forever, forever, math.MinInt64 / 2}
		}
		if r.f == "join" && r.call < now.call {
			now.call = r.call
		}
		if r.ended < now.seen {
			now.seen = r.ended
		}
		if r.call > now.last {
			now.last = r.call
		}
		births[r.asked.Group][gen] = now
	}
	for group, those := range births {
		order := make([]int64, 0, len(those))
		for gen := range those {
			order = append(order, gen)
		}
		sort.Slice(order, func(a, b int) bool { return order[a] < order[b] })
		last, first := int64(math.MinInt64/2), int64(forever)
		for i := range order { // backwards: what newer ones say
			gen := order[len(order)-1-i]
			when := those[gen]
			if when.seen > first {
				when.seen = first
			}
			first = when.seen
			those[gen] = when
		}
		for _, gen := range order {
			when := those[gen]
			bound := last
			if when.last > last {
				last = when.last
			}
			if first, known := lost[group]; known && first < when.call {
				when.call = first
			}
			if when.call == forever || when.call > when.seen {
				when.call = math.MinInt64 / 2 // nobody's join is in the history
			}
			if when.call < bound && bound <= when.seen {
				when.call = bound // else generations fall, which is others' to say
			}
			for _, key := range b.ofGroup[group] {
				b.registers[key].steps = append(b.registers[key].steps,
					step{when.call, when.seen, action{kind: "generation", gen: gen, sure: true}})
			}
		}
	}
}

// The generation that an ok answer presupposes.
func (r *request) presupposes() (int64, bool) {
	if r.outcome != "ok" {
		return 0, false
	}
	from := r.asked.Gen
	if r.f == "join" {
		from = r.answered.Gen
	}
	if from == nil || *from < 0 {
		return 0, false
	}
	switch r.f {
	case "join", "sync", "heartbeat", "commit":
		return *from, true
	}
	return 0, false
}

// What Porcupine is given. Left out are commits of unknown outcome that nobody read; one that was
// read has taken effect by the end of that read. Groups that were deleted have no fences: their
// generations begin anew.
func (reg *register) operations(retention time.Duration) []porcupine.Operation {
	read := map[string]int64{}
	writers := map[string]int{}
	mortal := retention > 0
	for _, s := range reg.steps {
		if s.do.kind == "fetch" {
			if first, known := read[s.do.value]; !known || s.ended < first {
				read[s.do.value] = s.ended
			}
		}
		if s.do.kind == "commit" {
			writers[s.do.value]++
		}
		mortal = mortal || s.do.whole
	}
	var operations []porcupine.Operation
	for _, s := range reg.steps {
		if mortal && s.do.kind == "generation" {
			continue
		}
		if s.do.kind == "commit" || s.do.kind == "delete" {
			first, known := read[s.do.value]
			if !s.do.sure && !known {
				continue
			}
			if !s.do.sure && s.do.kind == "commit" && writers[s.do.value] == 1 {
				s.do.sure = true
				if first < s.ended {
					s.ended = first
				}
				if s.ended < s.call {
					s.ended = s.call // read before it was asked: illegal either way
				}
			}
			if mortal {
				s.do.gen = -1
			}
			if s.do.kind == "delete" && !s.do.sure {
				s.do.kind, s.ended = "credit", s.call
			}
		}
		operations = append(operations, porcupine.Operation{Input: s.do, Call: s.call, Return: s.ended})
	}
	sort.SliceStable(operations, func(a, b int) bool {
		return operations[a].Call < operations[b].Call
	})
	return operations
}

// Each operation gets the lowest client that is free: Porcupine wants to know who asked.
func giveClients(operations []porcupine.Operation) {
	var busy []int64
	for i := range operations {
		client := -1
		for c, until := range busy {
			if until < operations[i].Call {
				client = c
				break
			}
		}
		if client < 0 {
			client = len(busy)
			busy = append(busy, 0)
		}
		busy[client] = operations[i].Return
		operations[i].ClientId = client
	}
}
