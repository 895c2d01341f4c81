// Judges histories with Porcupine: is every (group, topic, partition) a linearizable register, with
// the generation of its group as its fence?
//
//	check [-timeout 10s] [-retention 0] [-length 2000] [-width 5] [-operations 0] [-seed 1] HISTORY.jsonl...
//
// One JSON line per history: how many registers and operations, how many of them were judged, and
// which registers are not linearizable or could not be decided in time. It shares nothing with the
// other checkers but the format of histories (jepsen/history.py).
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

const unknownMax = 3 // registers; with more there is something wrong with the limits

type limits struct {
	timeout, retention        time.Duration
	length, width, operations int
	seed                      int64
}

type verdict struct {
	File       string   `json:"file"`
	Registers  int      `json:"registers"`
	Judged     int      `json:"judged"` // registers; the others are beyond the limit on operations
	Operations int      `json:"operations"`
	Windows    int      `json:"windows"`
	Thinned    int      `json:"thinned"` // reads that were left out
	Widest     int      `json:"widest"`
	Illegal    []string `json:"illegal"`
	Unknown    []string `json:"unknown"`
}

func judge(path string, limits limits) (verdict, error) {
	result := verdict{File: path}
	registers, err := readRegisters(path)
	if err != nil {
		return result, err
	}
	names := make([]string, 0, len(registers))
	for name := range registers {
		names = append(names, name)
	}
	sort.Strings(names)
	chance := rand.New(rand.NewSource(limits.seed))
	chance.Shuffle(len(names), func(a, b int) { names[a], names[b] = names[b], names[a] })
	result.Registers = len(names)
	for _, name := range names {
		operations := registers[name].operations(limits.retention)
		if limits.operations > 0 && result.Operations+len(operations) > limits.operations {
			continue
		}
		result.Judged++
		result.Operations += len(operations)
		switch result.decide(operations, limits, chance) {
		case porcupine.Illegal:
			result.Illegal = append(result.Illegal, name)
		case porcupine.Unknown:
			result.Unknown = append(result.Unknown, name)
		}
		if len(result.Unknown) >= unknownMax {
			break
		}
	}
	sort.Strings(result.Illegal)
	return result, nil
}

// One register: illegal if any window is, else unknown if any is.
func (v *verdict) decide(operations []porcupine.Operation, limits limits,
	chance *rand.Rand) porcupine.CheckResult {
	worst := porcupine.CheckResult(porcupine.Ok)
	for _, window := range windows(operations, limits.length) {
		window, thinned := thin(window, limits.width, chance)
		giveClients(window)
		v.Windows++
		v.Thinned += thinned
		if width := widest(window); width > v.Widest {
			v.Widest = width
		}
		found := porcupine.CheckOperationsTimeout(model(limits.retention), window, limits.timeout)
		if found != porcupine.Ok {
			worst = found
		}
		if found == porcupine.Illegal {
			break
		}
	}
	return worst
}

// The greatest number of operations that are open at once.
func widest(operations []porcupine.Operation) int {
	type edge struct {
		time int64
		step int
	}
	edges := make([]edge, 0, 2*len(operations))
	for _, o := range operations {
		edges = append(edges, edge{o.Call, 1}, edge{o.Return, -1})
	}
	sort.Slice(edges, func(a, b int) bool {
		if edges[a].time != edges[b].time {
			return edges[a].time < edges[b].time
		}
		return edges[a].step > edges[b].step
	})
	now, most := 0, 0
	for _, e := range edges {
		now += e.step
		if now > most {
			most = now
		}
	}
	return most
}

func main() {
	var limits limits
	flag.DurationVar(&limits.timeout, "timeout", 10*time.Second, "for one window of a register")
	flag.DurationVar(&limits.retention, "retention", 0,
		"offsets may expire that long after their commit; 0: never")
	flag.IntVar(&limits.length, "length", 2000, "of a window, operations")
	flag.IntVar(&limits.width, "width", 5, "operations at once, as far as leaving out reads helps")
	flag.IntVar(&limits.operations, "operations", 0,
		"of all registers: more are not judged, the seed says which; 0: all")
	flag.Int64Var(&limits.seed, "seed", 1, "of chance")
	flag.Parse()
	out := json.NewEncoder(os.Stdout)
	for _, path := range flag.Args() {
		result, err := judge(path, limits)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := out.Encode(result); err != nil {
			os.Exit(1)
		}
	}
}
