package main

import (
	"time"

	"github.com/anishathalye/porcupine"
)

// kind: commit, fetch, delete, generation. value: what is written or was read, "" is none. gen: what
// a commit was made under, -1 for none; what a generation is. sure: it has certainly taken effect.
// whole: the group was deleted.
type action struct {
	kind  string
	value string
	gen   int64
	sure  bool
	whole bool
}

// A register, and the generation of its group; 0 before the first.
type state struct {
	value string
	gen   int64
}

func stepState(before state, do action, mayExpire bool) (bool, state) {
	switch do.kind {
	case "generation":
		return do.gen > before.gen, state{before.value, do.gen}
	case "fetch":
		if do.value == "" && mayExpire {
			return true, state{"", before.gen}
		}
		return do.value == before.value, before
	case "delete":
		return true, state{"", before.gen}
	default:
		if do.gen >= 0 && do.gen != before.gen {
			return !do.sure, before
		}
		return true, state{do.value, before.gen}
	}
}

// With a retention any offset may be gone: a weaker model, in which expiry is always possible.
func model(retention time.Duration) porcupine.Model {
	unsure := func(do action, next, before state) []interface{} {
		if !do.sure && next != before {
			return []interface{}{next, before}
		}
		return []interface{}{next}
	}
	return (&porcupine.NondeterministicModel{
		Init: func() []interface{} { return []interface{}{state{}} },
		Step: func(s, input, _ interface{}) []interface{} {
			before, do := s.(state), input.(action)
			ok, next := stepState(before, do, retention > 0)
			if !ok {
				return nil
			}
			if do.kind == "commit" || do.kind == "delete" {
				return unsure(do, next, before)
			}
			return []interface{}{next}
		},
	}).ToModel()
}
