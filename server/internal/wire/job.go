package wire

import (
	"time"
)

// Job is a scheduled job and its last run.
type Job struct {
	Name       string    `json:"name" doc:"what it is called"`
	About      string    `json:"about" doc:"what it does"`
	Every      int64     `json:"every_seconds" doc:"how often it runs"`
	Late       bool      `json:"late" doc:"it has been behind, or failing, for longer than allowed"`
	Lag        int64     `json:"lag_seconds" doc:"the age of the oldest thing that waits for it"`
	StartedAt  time.Time `json:"started_at,omitzero" doc:"when its last run began"`
	FinishedAt time.Time `json:"finished_at,omitzero" doc:"when its last run ended"`
	NextAt     time.Time `json:"next_at,omitzero" doc:"when it runs again"`
	Rows       int64     `json:"rows" doc:"what it has processed in all its runs"`
	Runs       int64     `json:"runs" doc:"how often it has run"`
	Failures   int64     `json:"failures" doc:"how often it has failed"`
	Error      string    `json:"error,omitempty" doc:"what went wrong in its last run"`
}

// JobRun is the result of a job that was run on request.
type JobRun struct {
	Name   string `json:"name" doc:"the job"`
	DryRun bool   `json:"dry_run" doc:"nothing was changed"`
	Rows   int64  `json:"rows" doc:"what was processed; of a dry run, what would be"`
	More   bool   `json:"more" doc:"there is more to do: call again; of a dry run, there is more than was counted"`

	// Uncounted says, in a dry run, that the amount cannot be known beforehand.
	Uncounted bool `json:"uncounted,omitempty" doc:"of a dry run: the amount cannot be known beforehand"`
}

// Jobs are the scheduled jobs.
type Jobs struct {
	Leader string `json:"leader,omitempty" doc:"the node that runs them; none: no node leads at the moment"`
	Jobs   []Job  `json:"jobs" doc:"the jobs"`
}

// JobRunRequest asks for a job to be run now.
type JobRunRequest struct {
	DryRun bool   `json:"dry_run,omitempty" doc:"only count what it would move"`
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"why; the audit keeps it"`
}
