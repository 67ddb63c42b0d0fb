// Package preset knows the tables of job queues that people have: how each is
// recognised, which of its columns mean what, which jobs have failed for good, and how
// one is set off again by plain SQL (decision 0085). All of it is data; what is done
// with it, package define does. It knows no database.
package preset

import (
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Preset is the table of a queue.
type Preset struct {
	Name  string // as in --preset
	Of    string // whose table it is, for people
	Usual string // what the table is called, unless somebody has moved it

	// Columns are those by which the table is recognised, and all that is used of it.
	Columns []Column

	// Mapping says what means what. Whatever is not in it is none: nothing is guessed.
	Mapping wire.Mapping

	// Retry is the assignments that let a job which has failed for good run once more.
	Retry string

	// Pipeline and Stage are the columns that say in which queue a job is and of what kind,
	// or an expression over a job s, in which SCHEMA is that of its table. Payload is the
	// column that holds its work.
	Pipeline, Stage, Payload string
}

// Column is a column of a queue's table. An empty type may be any.
type Column struct{ Name, Type string }

// code is that of jobs of which only their queue knows why they failed.
const code = "INTERNAL_ERROR"

// All are the presets, by name.
var All = []Preset{
	{
		Name: "graphile-worker", Of: "Graphile Worker", Usual: "graphile_worker._private_jobs",
		Columns: []Column{{"id", ""}, {"task_id", ""}, {"payload", "json"}, {"attempts", "smallint"}, {"max_attempts", "smallint"}, {"last_error", "text"},
			{"run_at", ""}, {"locked_at", ""}, {"locked_by", ""}},
		Mapping: wire.Mapping{
			Entity: "id", CodeValue: code, Message: "last_error",
			GovernedWhen: "attempts >= max_attempts and last_error is not null and locked_at is null",
			UnderwayWhen: "attempts < max_attempts or locked_at is not null", // a job that is done is deleted
		},
		Retry:   "attempts = least(s.attempts, s.max_attempts - 1), run_at = now(), locked_at = null, locked_by = null",
		Stage:   "(select t.identifier::text from SCHEMA._private_tasks t where t.id = s.task_id)",
		Payload: "payload",
	},
	{
		Name: "oban", Of: "Oban", Usual: "oban_jobs",
		Columns: []Column{{"id", ""}, {"state", ""}, {"queue", ""}, {"worker", ""}, {"args", "jsonb"}, {"errors", "jsonb[]"}, {"attempt", ""}, {"max_attempts", ""},
			{"discarded_at", ""}, {"scheduled_at", ""}, {"completed_at", ""}},
		Mapping: wire.Mapping{
			Entity: "id", CodeValue: code, Message: "errors[last]->>'error'", CreatedAt: "discarded_at", TimeZone: "UTC", // Ecto writes UTC, whatever the setting is
			GovernedWhen: "state = 'discarded'",
			UnderwayWhen: "state not in ('discarded', 'completed', 'cancelled')",
		},
		Retry:    "state = 'available', scheduled_at = now() at time zone 'UTC', discarded_at = null, completed_at = null, max_attempts = greatest(s.max_attempts, s.attempt + 1)",
		Pipeline: "queue", Stage: "worker", Payload: "args",
	},
	{
		Name: "pg-boss", Of: "pg-boss", Usual: "pgboss.job",
		Columns: []Column{{"id", ""}, {"name", ""}, {"state", ""}, {"data", "jsonb"}, {"output", "jsonb"}, {"retry_limit", ""}, {"retry_count", ""},
			{"start_after", ""}, {"completed_on", ""}},
		Mapping: wire.Mapping{
			Entity: "id", CodeValue: code, Message: "output->>'message'", CreatedAt: "completed_on",
			GovernedWhen: "state = 'failed'",
			UnderwayWhen: "state not in ('failed', 'completed', 'cancelled')",
		},
		Retry: "state = 'retry', start_after = now(), completed_on = null, retry_limit = greatest(s.retry_limit, s.retry_count + 1)",
		Stage: "name", Payload: "data",
	},
	{
		Name: "river", Of: "River", Usual: "river_job",
		Columns: []Column{{"id", ""}, {"state", ""}, {"queue", ""}, {"kind", ""}, {"args", "jsonb"}, {"errors", "jsonb[]"}, {"attempt", ""}, {"max_attempts", ""},
			{"finalized_at", ""}, {"scheduled_at", ""}},
		Mapping: wire.Mapping{
			Entity: "id", CodeValue: code, Message: "errors[last]->>'error'", CreatedAt: "finalized_at",
			GovernedWhen: "state = 'discarded'",
			UnderwayWhen: "state not in ('discarded', 'completed', 'cancelled')",
		},
		Retry:    "state = 'available', scheduled_at = now(), finalized_at = null, max_attempts = greatest(s.max_attempts, s.attempt + 1)",
		Pipeline: "queue", Stage: "kind", Payload: "args",
	},
}

// Noted is the condition of failures for triggers. A state is compared as text: a condition
// with the name of a type or a label would fail after that is renamed.
func (p *Preset) Noted() string {
	return strings.ReplaceAll(p.Mapping.GovernedWhen, "state = ", "state::text = ")
}

// Named returns a preset by its name.
func Named(name string) (*Preset, bool) {
	i := slices.IndexFunc(All, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		return nil, false
	}
	return &All[i], true
}

// Names lists the names of all presets.
func Names() (names []string) {
	for i := range All {
		names = append(names, All[i].Name)
	}
	return names
}

// Missing lists which of the preset's columns a table lacks, or has as something else.
func (p *Preset) Missing(table []Column) (lacks []string) {
	for _, want := range p.Columns {
		i := slices.IndexFunc(table, func(c Column) bool { return c.Name == want.Name })
		switch {
		case i < 0:
			lacks = append(lacks, want.Name)
		case want.Type != "" && table[i].Type != want.Type:
			lacks = append(lacks, want.Name+" as "+want.Type+" (it is "+table[i].Type+")")
		}
	}
	return lacks
}

// Recognise returns the preset whose table it is; nil: none.
func Recognise(table []Column) *Preset {
	for i := range All {
		if len(All[i].Missing(table)) == 0 {
			return &All[i]
		}
	}
	return nil
}
