package postgres

import (
	"encoding/json"
	"time"

	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// resolveAlike is the statement that resolves errors by decisions that were made on
// others.
const resolveAlike = "select settled, correlations, workers, places, settled_at, written, retried from recoup.settle($1, $2, $3, $4, $5)"

// success is a decision on the success of a retry, as recoup.settle takes it: what an
// error has to agree in, and what only follows from that.
type success struct {
	Place          int    `json:"place"`
	Code           string `json:"code"`
	RetryCount     int    `json:"retry_count"`
	MaxRetries     int    `json:"max_retries"`
	Blocking       bool   `json:"blocking"`
	State          string `json:"state"`
	Disposition    string `json:"disposition"`
	Table          string `json:"table_name"`
	Policy         string `json:"policy_version"`
	Level          int    `json:"escalation_level"`
	AssignedTo     string `json:"assigned_to,omitempty"`
	EscalatedTo    string `json:"escalated_to,omitempty"`
	LastFailure    string `json:"last_failure_code,omitempty"`
	Family         string `json:"streak_family,omitempty"`
	RetryExhausted bool   `json:"retry_exhausted"`
}

// successArgs are the parameters of the statement. What is decided alike was said
// alike: there is one reason.
func successArgs(at *time.Time, steps []*store.Step, decisions []*lifecycle.Decision) ([]any, error) {
	list := make([]success, len(decisions))
	for i, d := range decisions {
		was := &d.Was
		list[i] = success{
			i, string(was.Code), was.RetryCount, was.MaxRetries, was.Blocking, string(was.State), string(was.Disposition), was.Table, was.PolicyVersion,
			was.EscalationLevel, was.AssignedTo, was.EscalatedTo, string(was.LastFailureCode), was.StreakFamily, d.Next.RetryExhausted,
		}
	}
	text, err := json.Marshal(list)
	ids, tokens := leasesOf(steps)
	return []any{ids, tokens, string(text), optional(decisions[0].Effects.History.Reason), at}, err
}

// leasesOf are the ids and tokens of results.
func leasesOf(steps []*store.Step) (ids, tokens [][]byte) {
	ids, tokens = make([][]byte, len(steps)), make([][]byte, len(steps))
	for i, step := range steps {
		ids[i], tokens[i] = step.ID[:], step.Result.Token[:]
	}
	return ids, tokens
}
