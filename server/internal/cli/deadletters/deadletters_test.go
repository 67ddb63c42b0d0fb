package deadletters_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/cli/deadletters"
)

// deadLettered makes dead letters, and returns the id of the last.
func deadLettered(n *clitest.Node, pipeline string, count int) string {
	n.T.Helper()
	c := n.Client()
	defer c.Close()
	var last recoup.DeadLetter
	for i := range count {
		var err error
		if last, err = c.DeadLetters.Record(n.T.Context(), recoup.StageFailure{
			WorkID: recoup.ID{1, byte(len(pipeline)), byte(i), 15: 1}, Pipeline: pipeline, Stage: "llm", Class: "VALIDATION_ERROR",
			LastStack: "*json.SyntaxError: invalid character 'x' at offset 1234", PayloadRef: "s3://in/1",
			Context: map[string]any{"attempts": map[string]any{"llm": 1}, "upstream": "openai", "upstream_status": 422}, FirstFailureAt: time.Now(), LastFailureAt: time.Now(),
		}); err != nil {
			n.T.Fatal(err)
		}
	}
	return last.ErrorID.String()
}

// works does what there is to do, as a worker would.
func works(n *clitest.Node, pipeline string) {
	n.T.Helper()
	c := n.Client()
	defer c.Close()
	work, err := c.Work.Claim(n.T.Context(), recoup.WorkClaim{Lanes: []recoup.Lane{{Pipeline: pipeline, Stage: "llm"}}, Worker: "w1", WaitSeconds: 30})
	if err != nil || len(work) == 0 {
		n.T.Fatalf("claimed %v, %v", work, err)
	}
	for _, w := range work {
		if _, err := c.Work.Result(n.T.Context(), recoup.WorkResult{WorkID: w.WorkID, LeaseToken: w.LeaseToken, Outcome: recoup.OutcomeSucceeded}); err != nil {
			n.T.Fatal(err)
		}
	}
}

// An operator takes a dead letter out, and a group of them to where they can be
// replayed.
func TestDeadLettersTranscript(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	id := deadLettered(n, "criticizer", 1)
	seen := []string{"--class", "VALIDATION_ERROR", "--stage", "llm", "--exhausted", "no"}
	said := n.Transcript(
		[]string{"dead-letters", "list"},
		[]string{"errors", "explain", id},
		[]string{"dead-letters", "remediate", id, "--link", "INC-7", "--corrected", "x"},
		[]string{"dead-letters", "triage", id, "--cause", "data"},
		[]string{"dead-letters", "triage", id, "--cause", "data", "--class", "NETWORK_TIMEOUT", "--stage", "fetch", "--exhausted", "yes"},
		append([]string{"dead-letters", "triage", id, "--cause", "data", "--note", "the vendor sends HTML"}, seen...),
		[]string{"dead-letters", "remediate", id, "--link", "INC-7", "--fixed", "x"},
		[]string{"dead-letters", "remediate", id, "--link", "INC-7", "--corrected", "the input"},
		[]string{"dead-letters", "validate", id, "--idempotent"},
		[]string{"dead-letters", "replay", id, "--dry-run"},
		[]string{"dead-letters", "replay", id, "--from-start", "fetch", "--dry-run"},
		[]string{"dead-letters", "replay", id, "--reason", "corrected"},
		[]string{"dead-letters", "verify", id, "--note", "too early"},
	)
	works(n, "criticizer")
	said += n.Transcript(
		append([]string{"dead-letters", "triage", id, "--cause", "data"}, seen...),
		[]string{"dead-letters", "verify", id, "--note", "the channel has it"},
	)
	n.Must("jobs", "run", "resolved") // the clock does it sooner or later
	said += n.Transcript(
		[]string{"dead-letters", "verify", id, "--note", "the channel has it"},
		[]string{"dead-letters", "show", id},
	)
	deadLettered(n, "newsletter", 3)
	group := group(n, "newsletter")
	said += n.Transcript(
		[]string{"dead-letters", "groups", "--pipeline", "newsletter"},
		[]string{"dead-letters", "triage", "--group", group, "--cause", "transient", "--yes"},
		append([]string{"dead-letters", "triage", "--group", group, "--cause", "transient"}, seen...),
		append([]string{"dead-letters", "triage", "--group", group, "--cause", "transient", "--dry-run"}, seen...),
		append([]string{"dead-letters", "triage", "--group", group, "--cause", "transient", "--yes"}, seen...),
		[]string{"dead-letters", "validate", "--group", group, "--idempotent", "--yes"},
		[]string{"dead-letters", "replay", "--pipeline", "newsletter", "--dry-run"},
		[]string{"work", "pause", "--pipeline", "newsletter", "--for", "2h", "--reason", "the model is down"},
		[]string{"work", "paused"},
		[]string{"work", "unpause", "--pipeline", "newsletter"},
		[]string{"work", "unpause", "--pipeline", "newsletter"},
	)
	clitest.Golden(t, "dead_letters.golden", said)
}

// group returns the id of the only group of a pipeline.
func group(n *clitest.Node, pipeline string) string {
	n.T.Helper()
	var list recoup.DeadLetterGroupPage
	clitest.Parse(n.T, n.Must("dead-letters", "groups", "--pipeline", pipeline, "--json"), &list)
	return list.Groups[0].ID.String()
}

// A replay is watched, paused and cancelled.
func TestReplaysCommands(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	deadLettered(n, "criticizer", 3)
	group := group(n, "criticizer")
	n.Must("dead-letters", "triage", "--group", group, "--cause", "data", "--class", "VALIDATION_ERROR", "--stage", "llm", "--exhausted", "no", "--yes")
	n.Must("dead-letters", "remediate", "--group", group, "--link", "INC-7", "--corrected", "x", "--yes")
	n.Must("dead-letters", "validate", "--group", group, "--idempotent", "--yes")
	var r recoup.Replay
	clitest.Parse(t, n.Must("dead-letters", "replay", "--group", group, "--reason", "corrected", "--no-ramp", "--rate", "1", "--yes", "--json"), &r)
	if r.Members != 3 || r.State != "RUNNING" || r.Counts.Released != 1 {
		t.Fatalf("the replay is %+v", r)
	}
	id := r.ID.String()
	if got := n.Must("replays", "pause", id, "--reason", "lunch"); !strings.Contains(got, id+" paused; paused: 0 of 3 ended") {
		t.Errorf("paused: %s", got)
	}
	if got := n.Run("replays", "watch", id); got.Status != command.ExitRefused || !strings.Contains(got.Out, "paused: 0 of 3 ended") {
		t.Errorf("watched: %+v", got)
	}
	for _, args := range [][]string{{"replays", "list", "--state", "paused"}, {"replays", "show", id}, {"replays", "show", id, "--items", "PENDING"}} {
		if got := n.Must(args...); !strings.Contains(got, "PAUSED") && !strings.Contains(got, "PENDING") {
			t.Errorf("%v: %s", args, got)
		}
	}
	n.Must("replays", "resume", id, "--reason", "back")
	works(n, "criticizer")
	n.Must("replays", "cancel", id, "--reason", "enough")
	if got := n.Run("replays", "watch", id); got.Status != command.ExitRefused || !strings.Contains(got.Out, "cancelled: 3 of 3 ended, ") {
		t.Errorf("watched: %+v", got)
	}
}

// Watching shows what changes, and says when no results come back.
func TestReplayWatched(t *testing.T) {
	t.Parallel()
	running := recoup.ReplayDetails{Replay: recoup.Replay{State: "RUNNING", Step: "canary", Members: 4, Counts: recoup.ItemCounts{Pending: 3, Released: 1}}}
	further, done := running, running
	further.Step, further.Counts = "rest", recoup.ItemCounts{Released: 1, Succeeded: 1, Failed: 1, Repeated: 1}
	done.State, done.EndedAt, done.Counts = "DONE", clitest.Morning, recoup.ItemCounts{Succeeded: 1, Failed: 1, Repeated: 1, Archived: 1}
	for terminal, want := range map[bool][]string{
		false: {
			"running: 0 of 4 ended, 0 succeeded, 0 failed, stage canary, 1 in flight\n" +
				"running: 0 of 4 ended, 0 succeeded, 0 failed, stage canary, 1 in flight; no results: no worker has claimed images/resize in seven days: start one, or check that it claims this name and reaches this server ('recoup workers' shows who does)\n" +
				"running: 3 of 4 ended, 1 succeeded, 2 failed, stage rest, 1 in flight\n",
		},
		true: {
			"running: 0 of 4 ended, 0 succeeded, 0 failed, stage canary, 1 in flight\r\x1b[J",
			"in flight; no results: no worker has claimed images/resize in seven days: start one, or check that",
			"running: 3 of 4 ended, 1 succeeded, 2 failed, stage rest, 1 in flight\r\x1b[J",
		},
	} {
		now, answers := clitest.Morning, []recoup.ReplayDetails{running, running, running, further, done}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/workers" {
				fmt.Fprintf(w, `{"queues": [{"pipeline": "images", "stage": "resize", "due": 1, "due_since": %q, "workers": 0, "unattended": true}]}`, clitest.Morning.Format(time.RFC3339))
				return
			}
			now = now.Add(deadletters.QuietAfter / 2)
			if err := json.NewEncoder(w).Encode(answers[0]); err != nil {
				t.Error(err)
			}
			answers = answers[1:]
		}))
		t.Cleanup(server.Close)
		c, err := client.New(client.Options{Server: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		var out, shown strings.Builder
		s := &command.Session{Client: c, Streams: command.Streams{Out: &out, Err: &shown, Terminal: terminal, Now: func() time.Time { return now }}}
		if err := deadletters.WatchReplay(t.Context(), s, recoup.ID{1}, time.Millisecond); err != nil {
			t.Error(err)
		}
		for _, text := range want {
			if !strings.Contains(shown.String(), text) {
				t.Errorf("a terminal is %t: shown is %q, without %q", terminal, &shown, text)
			}
		}
		if !strings.HasSuffix(out.String(), " done: 4 of 4 ended, 1 succeeded, 2 failed, 1 archived\n") {
			t.Errorf("it says %q", &out)
		}
	}
}

func TestDeadLettersMisused(t *testing.T) {
	t.Parallel()
	const id = "0198c0de-0000-7000-8000-000000000001"
	for args, want := range map[string]string{
		"dead-letters triage " + id:          "--cause is missing",
		"dead-letters triage --cause data":   "expected the ID of a dead letter, or --group ID",
		"dead-letters triage x --cause data": `"x" is not an id`,
		"dead-letters triage " + id + " --cause data --stage llm --class X --exhausted maybe": `unknown exhausted "maybe"`,
		"dead-letters triage " + id + " --cause bad":                                          `unknown cause "bad"`,
		"dead-letters triage " + id + " --group " + id + " --cause data":                      "expected the ID of a dead letter, or --group ID",
		"dead-letters remediate " + id:                                                        "--link is missing",
		"dead-letters validate " + id:                                                         "expected --idempotent",
		"dead-letters verify " + id:                                                           "--note is missing",
		"dead-letters replay":                                                                 "neither an id nor a filter is given",
		"dead-letters replay " + id:                                                           "--reason is missing",
		"dead-letters replay " + id + " --stage llm --reason x":                               "ids and a filter are given",
		"dead-letters replay --all --dry-run --rate 0":                                        "--rate is 0: expected a number above 0, 10000 at most",
		"dead-letters replay --all --dry-run --concurrency -1":                                "--concurrency is -1: expected a number above 0, 100000 at most",
		"dead-letters replay --all --dry-run --failure-limit 1.5":                             "--failure-limit is 1.5: expected a number above 0, 1 at most",
		"dead-letters list --group x":                                                         "as 'recoup dead-letters groups' prints them",
		"dead-letters show x":                                                                 "as 'recoup dead-letters list' prints them",
		"replays show x":                                                                      "as 'recoup replays list' prints them",
		"gate-zero show x":                                                                    "as 'recoup gate-zero eligible' prints them",
		"alerts unsilence x":                                                                  "as 'recoup alerts silences --past' prints them",
		"errors show x":                                                                       "as 'recoup errors list' prints them",
		"notifications resend x":                                                              "as 'recoup notifications list' prints them",
		"gate-zero kill b":                                                                    "--reason is missing",
		"dead-letters list --step LATER":                                                      `unknown step "LATER"`,
		"dead-letters list --limit 0":                                                         "--limit is 0",
		"replays pause " + id:                                                                 "--reason is missing",
		"replays list --state ASLEEP":                                                         `unknown state "ASLEEP"`,
		"work pause --reason x":                                                               "expected --pipeline, --stage or --class",
		"work pause --all":                                                                    "--reason is missing",
	} {
		if _, stderr, status := clitest.Run(t, strings.Fields(args)...); status != command.ExitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, said %q", args, status, stderr)
		}
	}
}
