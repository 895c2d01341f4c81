package main

import (
	"math/rand"
	"sort"

	"github.com/anishathalye/porcupine"
)

// Porcupine's time and memory grow with the length of what it is given and, exponentially, with how
// much of it is open at once. So a register is judged in windows of limited length, each from a state
// that nobody knows, and reads are left out where too much is open at once. Either only takes
// knowledge away: no legal history becomes illegal.

// Parts of at most [length] operations, by their call; [operations] are in that order. What began
// before a window and ended in it may have taken effect before it, what ended behind it after it:
// such writes may or may not happen, such reads say nothing.
func windows(operations []porcupine.Operation, length int) [][]porcupine.Operation {
	var all [][]porcupine.Operation
	var before []porcupine.Operation  // of windows before, that may still be open
	var credits []porcupine.Operation // of all windows before
	for lo := 0; lo < len(operations); lo += length {
		hi := lo + length
		end := int64(forever)
		if hi >= len(operations) {
			hi = len(operations)
		} else {
			end = operations[hi].Call
		}
		begin := operations[lo].Call
		var window, open []porcupine.Operation
		if lo > 0 {
			window = append(window, porcupine.Operation{Input: action{kind: "forget"},
				Call: begin - 1, Return: begin - 1})
		}
		for _, o := range credits { // used up or not: nobody knows
			o.Call, o.Return = begin, begin
			window = append(window, o)
		}
		for _, o := range before {
			if o.Return < begin {
				continue
			}
			open = append(open, o)
			if left, keeps := possibly(o); keeps {
				left.Call = begin
				if left.Input.(action).kind == "credit" {
					left.Return = begin
				}
				window = append(window, left)
			}
		}
		for _, o := range operations[lo:hi] {
			if o.Input.(action).kind == "credit" {
				credits = append(credits, o)
			}
			if o.Return < end {
				window = append(window, o)
				continue
			}
			open = append(open, o)
			if left, keeps := possibly(o); keeps {
				window = append(window, left)
			}
		}
		before = open
		all = append(all, window)
	}
	return all
}

// The operation as one that may or may not take effect; false: a read, which then says nothing.
func possibly(o porcupine.Operation) (porcupine.Operation, bool) {
	do := o.Input.(action)
	switch do.kind {
	case "fetch":
		return o, false
	case "delete":
		do.kind = "credit"
		o.Return = o.Call
	}
	do.sure = false
	o.Input = do
	return o, true
}

// Without the reads that make more than [width] operations be open at once, as far as reads do.
// [chance] says which.
func thin(operations []porcupine.Operation, width int, chance *rand.Rand) ([]porcupine.Operation, int) {
	sort.SliceStable(operations, func(a, b int) bool {
		return operations[a].Call < operations[b].Call
	})
	dropped := make([]bool, len(operations))
	var open []int
	count := 0
	for i := range operations {
		var still, reads []int
		for _, j := range append(open, i) {
			if operations[j].Return >= operations[i].Call {
				still = append(still, j)
				if operations[j].Input.(action).kind == "fetch" {
					reads = append(reads, j)
				}
			}
		}
		open = still
		if len(open) > width && len(reads) > 0 {
			leave := reads[chance.Intn(len(reads))]
			dropped[leave] = true
			count++
			open = open[:0]
			for _, j := range still {
				if j != leave {
					open = append(open, j)
				}
			}
		}
	}
	kept := make([]porcupine.Operation, 0, len(operations)-count)
	for i, o := range operations {
		if !dropped[i] {
			kept = append(kept, o)
		}
	}
	return kept, count
}
