package main

import (
	"time"

	"github.com/anishathalye/porcupine"
)

// kind: commit, fetch, delete, generation, credit: a deletion of unknown outcome was asked for, or
// forget: from here on nobody knows what the state is.
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
	value    string
	gen      int64
	credits  int
	anyValue bool // nobody knows
	anyGen   bool
}

func stepState(s state, do action, mayExpire bool) (bool, state) {
	switch do.kind {
	case "forget":
		return true, state{anyValue: true, anyGen: true}
	case "generation":
		ok := s.anyGen || do.gen > s.gen
		s.gen, s.anyGen = do.gen, false
		return ok, s
	case "credit":
		s.credits++
		return true, s
	case "fetch":
		if s.anyValue {
			s.value, s.anyValue = do.value, false
			return true, s
		}
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
		s.value, s.anyValue = "", false
		return true, s
	default:
		if do.gen >= 0 && do.gen != s.gen && !s.anyGen {
			return !do.sure, s
		}
		if do.gen >= 0 {
			s.gen, s.anyGen = do.gen, false
		}
		s.value, s.anyValue = do.value, false
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
			if !ok && (do.sure || do.kind != "generation") {
				return nil
			}
			if !ok {
				return []interface{}{s}
			}
			if !do.sure && (do.kind == "commit" || do.kind == "generation") {
				return []interface{}{next, s}
			}
			return []interface{}{next}
		},
	}
	return model.ToModel()
}
