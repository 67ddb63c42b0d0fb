// Package stage runs work in named stages, and resumes it at the stage that failed
// (spec 002, 8).
//
// Each stage has an attempt budget of its own and a schedule with full jitter.
// What a finished stage returns is kept as a checkpoint, so that a crash or a
// replay goes on at the stage that failed, with the earlier outputs at hand. A
// stage that cannot be finished is a [recoup.StageFailure]: everything that
// an operator needs, and nothing that they must not see.
package stage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

// Pipeline is a sequence of stages.
type Pipeline struct {
	Name   string
	Stages []Stage
}

// Stage is one of them.
type Stage struct {
	Name string
	Run  Func

	// Policy is its budget and schedule; nil stands for [retry.Stage]: 5 attempts,
	// the first included, 1 s × 2 with full jitter and 60 s at most.
	Policy *retry.Policy

	// Timeout bounds each attempt; zero: only the work's context does.
	Timeout time.Duration

	// Once says that running the stage twice does harm: it neither passes
	// [Input.IdempotencyKey] on nor is idempotent by nature. A failure that may have
	// taken effect, such as a timeout, is then not retried automatically.
	Once bool

	// Proven says what else is true of every attempt, so that failures with a
	// conditional code can be retried.
	Proven []recoup.Condition
}

// proven is what is true of every attempt.
func (s *Stage) proven() []recoup.Condition {
	if s.Once {
		return append([]recoup.Condition{fault.NotIdempotent()}, s.Proven...)
	}
	return append([]recoup.Condition{recoup.ConditionIdempotencyKey, recoup.ConditionSamePayload}, s.Proven...)
}

// Func does the work of a stage. What it returns is kept as the stage's output.
// It may be called again with the same input: after a failure, after a crash, and
// in a replay. Calls to other systems should carry [Input.IdempotencyKey].
type Func func(ctx context.Context, in Input) (output []byte, err error)

// Input is what a stage is given.
type Input struct {
	WorkID   recoup.ID
	Pipeline string
	Stage    string
	EntityID string // what the work is about, if it was submitted with one
	Attempt  int    // of this run, from 1
	Payload  []byte // what the work is about

	// IdempotencyKey is the same for every attempt of this stage of this work, in
	// this run and in every later one, until the work is begun anew.
	IdempotencyKey string

	outputs map[string][]byte
}

// Output returns what an earlier stage returned, in this run or in one before.
func (in Input) Output(stage string) ([]byte, bool) {
	output, ok := in.outputs[stage]
	return output, ok
}

// Decode reads the output of an earlier stage, which must be JSON.
func (in Input) Decode(stage string, into any) error {
	output, ok := in.outputs[stage]
	if !ok {
		return fmt.Errorf("stage %s has no output", stage)
	}
	return json.Unmarshal(output, into)
}

// Work is something to be taken through a pipeline.
type Work struct {
	ID         recoup.ID
	EntityID   string // what it is about: its dead letter keeps that from being promoted; may be empty
	Payload    []byte
	PayloadRef string // where the payload can be found again; not the payload itself

	// RequestIDs are the upstreams' ids of the work, for whoever investigates it.
	RequestIDs map[string]string

	// Restart counts how often the work was begun anew on purpose. Each time has
	// idempotency keys of its own, because its effects are wanted once more.
	Restart int
}

// Result is the result of work that succeeded.
type Result struct {
	Output   []byte         // of the last stage
	Attempts map[string]int // of this run, by stage; a stage that was finished before has none
}

// key is the idempotency key of a stage.
func (w *Work) key(stage string) string {
	key := w.ID.String() + "/" + stage
	if w.Restart > 0 {
		key += "/" + strconv.Itoa(w.Restart)
	}
	return key
}

// PayloadHash identifies a payload without revealing it: the first bytes of its
// SHA-256.
func PayloadHash(payload []byte) string {
	if payload == nil {
		return ""
	}
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:8])
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$`)

// Validate returns all that is wrong with the pipeline.
func (p Pipeline) Validate() error {
	var bad []error
	complain := func(format string, args ...any) { bad = append(bad, fmt.Errorf("stage: "+format, args...)) }
	if !namePattern.MatchString(p.Name) {
		complain("the pipeline's name %q is none: letters, digits and _.:- are, 64 at most", p.Name)
	}
	if len(p.Stages) == 0 {
		complain("the pipeline %s has no stage", p.Name)
	}
	seen := map[string]bool{}
	for _, s := range p.Stages {
		switch {
		case !namePattern.MatchString(s.Name):
			complain("the stage's name %q is none: letters, digits and _.:- are, 64 at most", s.Name)
		case seen[s.Name]:
			complain("there are two stages %s", s.Name)
		case s.Run == nil:
			complain("the stage %s does nothing: it has no Run", s.Name)
		case s.Timeout < 0:
			complain("the stage %s has a negative timeout", s.Name)
		}
		seen[s.Name] = true
		if s.Policy != nil {
			if err := s.Policy.Validate(); err != nil {
				complain("the stage %s: %w", s.Name, err)
			}
		}
	}
	return errors.Join(bad...)
}
