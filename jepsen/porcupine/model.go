package main

import (
	"time"

	"github.com/anishathalye/porcupine"
)

// kind: commit, fetch, delete, generation, or credit: a deletion of unknown outcome was asked for.
// value: what is written or was read, "" is none. gen: what a commit was made under, -1 for none;
// what a generation is. sure: it has certainly taken effect. whole: the group was deleted.
type action struct {
	kind  string
	value string
	gen   int64
	sure  bool
	whole bool
}

// A register, the generation of its group (0 before the first), and how many deletions of unknown
// outcome may still take effect. One of them does where none is read and nothing else explains it:
// at any other time it would make no difference.
type state struct {
	value   string
	gen     int64
	credits int
}

func stepState(s state, do action, mayExpire bool) (bool, state) {
	switch do.kind {
	case "generation":
		ok := do.gen > s.gen
		s.gen = do.gen
		return ok, s
	case "credit":
		s.credits++
		return true, s
	case "fetch":
		if do.value == "" && s.value != "" && !mayExpire {
			s.credits--
			s.value = ""
			return s.credits >= 0, s
		}
		if do.value == "" {
			s.value = ""
		}
		return do.value == s.value, s
	case "delete":
		s.value = ""
		return true, s
	default:
		if do.gen >= 0 && do.gen != s.gen {
			return !do.sure, s
		}
		s.value = do.value
		return true, s
	}
}

// With a retention any offset may be gone: a weaker model, in which expiry is always possible.
func model(retention time.Duration) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []interface{} { return []interface{}{state{}} },
		Step: func(s, input, _ interface{}) []interface{} {
			do := input.(action)
			ok, next := stepState(s.(state), do, retention > 0)
			if !ok {
				return nil
			}
			if do.kind == "commit" && !do.sure {
				return []interface{}{next, s}
			}
			return []interface{}{next}
		},
	}
	return model.ToModel()
}
