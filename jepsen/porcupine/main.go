// Judges histories with Porcupine: is every (group, topic, partition) a linearizable register, with
// the generation of its group as its fence?
//
//	check [-timeout 60s] [-retention 0] HISTORY.jsonl...
//
// One JSON line per history: how many registers and operations, and which registers are not
// linearizable or could not be decided in time. It shares nothing with the other checkers but the
// format of histories (jepsen/history.py).
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

type verdict struct {
	File       string   `json:"file"`
	Registers  int      `json:"registers"`
	Operations int      `json:"operations"`
	Widest     int      `json:"widest"`
	Illegal    []string `json:"illegal"`
	Unknown    []string `json:"unknown"`
}

func judge(path string, timeout, retention time.Duration) (verdict, error) {
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
	for _, name := range names {
		operations := registers[name].operations(retention)
		result.Registers++
		result.Operations += len(operations)
		if width := widest(operations); width > result.Widest {
			result.Widest = width
		}
		switch porcupine.CheckOperationsTimeout(model(retention), operations, timeout) {
		case porcupine.Illegal:
			result.Illegal = append(result.Illegal, name)
		case porcupine.Unknown:
			result.Unknown = append(result.Unknown, name)
		}
	}
	return result, nil
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
	timeout := flag.Duration("timeout", 60*time.Second, "for one register")
	retention := flag.Duration("retention", 0,
		"offsets may expire that long after their commit; 0: never")
	flag.Parse()
	out := json.NewEncoder(os.Stdout)
	for _, path := range flag.Args() {
		result, err := judge(path, *timeout, *retention)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := out.Encode(result); err != nil {
			os.Exit(1)
		}
	}
}
