package lifecycle_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

var update = flag.Bool("update", false, "rewrite the documents that are drawn from the transition table")

// specimen returns an error in the given state for which nothing but the state
// stands in the way of an input: due, past every deadline, its lease in hand.
func (w *world) specimen(state recoup.State, kind lifecycle.Kind) *recoup.Error {
	if state == "" {
		return nil
	}
	if slices.Contains(letterKinds, kind) && !slices.Contains([]recoup.State{recoup.Active, recoup.RetryPending}, state) {
		return w.letter(state, kind)
	}
	e := w.report(dol, "NETWORK_TIMEOUT", recoup.Medium)
	switch state {
	case recoup.Active:
		e = w.report(dol, "NETWORK_TIMEOUT", recoup.Low)
	case recoup.Parked, recoup.Escalated:
		e, _ = w.must(&e, lifecycle.Park{By: "ada", Reason: "look"})
		if state == recoup.Escalated {
			e, _ = w.must(&e, lifecycle.Escalate{By: "ada"})
		}
	case recoup.Resolved:
		e, _ = w.must(&e, lifecycle.Resolve{By: "ada"})
	case recoup.Archived:
		e, _ = w.must(&e, lifecycle.ArchiveNow{By: "ada"})
	case recoup.RetryPending:
		if slices.Contains([]lifecycle.Kind{"extend", "succeed", "fail", "lapse"}, kind) {
			e, _ = w.claim(&e)
		}
	}
	return &e
}

// inputs returns one of each input, ready for the error it is to be applied to.
func (w *world) inputs(e *recoup.Error) map[lifecycle.Kind]lifecycle.Input {
	var token recoup.ID
	if e != nil {
		token = e.LeaseToken
	}
	return map[lifecycle.Kind]lifecycle.Input{
		"report":       w.reportOf(dol, "NETWORK_TIMEOUT", recoup.Medium),
		"claim":        lifecycle.Claim{Token: w.id(), Worker: "w1"},
		"extend":       lifecycle.Extend{Token: token},
		"succeed":      lifecycle.Succeed{Token: token},
		"fail":         lifecycle.Fail{Token: token, Failure: failure("NETWORK_TIMEOUT")},
		"lapse":        lifecycle.Lapse{},
		"close_window": lifecycle.CloseWindow{},
		"park":         lifecycle.Park{By: "ada", Reason: "look"},
		"unpark":       lifecycle.Unpark{By: "ada"},
		"resolve":      lifecycle.Resolve{By: "ada"},
		"escalate":     lifecycle.Escalate{By: "ada"},
		"assign":       lifecycle.Assign{By: "ada", To: "bob"},
		"review":       lifecycle.Review{By: "ada"},
		"remind":       lifecycle.Remind{},
		"archive":      lifecycle.ArchiveNow{By: "ada"},
		"expire":       lifecycle.Expire{},
		"rebase":       lifecycle.Rebase{By: "ada"},
		"replay":       lifecycle.Replay{By: "ada"},
		"return":       lifecycle.Return{},
		"fail_again":   lifecycle.FailAgain{Failure: failure("NETWORK_TIMEOUT")},
		"verify":       lifecycle.Verify{By: "ada"},
	}
}

// ripen moves the clock to where the guards of an input hold.
func (w *world) ripen(e *recoup.Error, kind lifecycle.Kind) {
	switch {
	case e == nil:
	case kind == "claim" && !e.NextRetryAt.IsZero():
		w.now = e.NextRetryAt
	case kind == "lapse" && !e.LeaseEndsAt.IsZero():
		w.now = e.LeaseEndsAt
	case kind == "close_window" && !e.WindowEndsAt.IsZero():
		w.now = e.WindowEndsAt.Add(1)
	case kind == "remind" && e.NextReminderAt.IsZero():
		e.NextReminderAt = w.now // a LOW error has no reminders: stand in for one that has
	case kind == "remind":
		w.now = e.NextReminderAt
	case kind == "expire":
		w.now = e.ExpiresAt
	case kind == "rebase":
		e.PolicyVersion = "0.9.0" // an earlier version admitted it
	}
}

// Every state meets every input: accepted as the table says, or refused with
// nothing changed.
func TestEveryStateMeetsEveryInput(t *testing.T) {
	states := append([]recoup.State{""}, recoup.States()...)
	for _, row := range lifecycle.Transitions() {
		for _, from := range states {
			t.Run(fmt.Sprintf("%s/%s", row.Input, from), func(t *testing.T) {
				w := newWorld(t)
				e := w.specimen(from, row.Input)
				w.ripen(e, row.Input)
				next, effects, err := lifecycle.Step(w.policy, e, w.inputs(e)[row.Input], w.now)
				if slices.Contains(row.From, from) {
					if err != nil || !slices.Contains(row.To, next.State) {
						t.Fatalf("got %s, %v; want one of %v", next.State, err, row.To)
					}
					return
				}
				checkRefused(t, e, next, effects, err)
			})
		}
	}
}

func checkRefused(t *testing.T, e *recoup.Error, next recoup.Error, effects lifecycle.Effects, err error) {
	t.Helper()
	var refusal *lifecycle.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("got %s, %v; want a refusal", next.State, err)
	}
	want := lifecycle.InvalidTransition
	if e != nil && slices.Contains([]lifecycle.Kind{"extend", "succeed", "fail"}, refusal.Input) {
		want = lifecycle.LeaseLost
	}
	if refusal.Code != want {
		t.Errorf("code %s, want %s", refusal.Code, want)
	}
	if e != nil && next != *e || e == nil && next != (recoup.Error{}) {
		t.Errorf("a refusal changed the error: %+v", next)
	}
	if effects != (lifecycle.Effects{}) {
		t.Errorf("a refusal had effects: %+v", effects)
	}
}

// Errors of an INFINITE table accept nothing at all.
func TestInfiniteAcceptsNoTransition(t *testing.T) {
	for _, row := range lifecycle.Transitions() {
		if row.Input == lifecycle.Reported {
			continue
		}
		w := newWorld(t)
		e := w.report(masterLog, "NETWORK_TIMEOUT", recoup.Critical)
		w.wait(1000 * day)
		next, effects, err := lifecycle.Step(w.policy, &e, w.inputs(&e)[row.Input], w.now)
		var refusal *lifecycle.Refusal
		if !errors.As(err, &refusal) || next != e || effects != (lifecycle.Effects{}) {
			t.Errorf("%s: got %s, %v", row.Input, next.State, err)
		}
	}
}

func TestRefusalNamesTheWayOut(t *testing.T) {
	w := newWorld(t)
	orphan := w.report("no.such_table", "NETWORK_TIMEOUT", "")
	letter := w.report(letters, "NETWORK_TIMEOUT", "")
	discovered := w.report(discovery, "NETWORK_TIMEOUT", "")
	top := w.report(dol, "NETWORK_TIMEOUT", recoup.Critical)
	top, _ = w.must(&top, lifecycle.Escalate{By: "ada", Tier: 3})
	for _, row := range []struct {
		name string
		e    recoup.Error
		in   lifecycle.Input
		want []string
	}{
		{"unpark where RETRY is not allowed", orphan, lifecycle.Unpark{}, []string{"does not allow retries", "resolve", "escalate", "archive"}},
		{"unpark of a dead letter", letter, lifecycle.Unpark{}, []string{"dead letter", "replay"}},
		{"resolve of a dead letter", letter, lifecycle.Resolve{}, []string{"dead letter", "verify"}},
		{"park where PARK is not allowed", discovered, lifecycle.Park{Reason: "look"}, []string{"does not allow parking", "resolve", "archive"}},
		{"park without a reason", discovered, lifecycle.Park{}, []string{"reason is required"}},
		{"escalation above the ladder", top, lifecycle.Escalate{By: "ada"}, []string{"tier 3 is the highest"}},
		{"escalation to where it is", top, lifecycle.Escalate{By: "ada", Tier: 2}, []string{"tier 3 already"}},
		{"assignment to nobody", top, lifecycle.Assign{By: "ada"}, []string{"assignee is required"}},
		{"resolve of what is not there", recoup.Error{}, lifecycle.Resolve{}, []string{"no such error"}},
	} {
		e := &row.e
		if e.ID.IsZero() {
			e = nil
		}
		_, _, err := lifecycle.Step(w.policy, e, row.in, w.now)
		if err == nil {
			t.Errorf("%s: accepted", row.name)
			continue
		}
		for _, word := range row.want {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q does not say %q", row.name, err, word)
			}
		}
	}
}

// The document shows the table as it is.
func TestDocumentIsCurrent(t *testing.T) {
	const path = "../../../docs/lifecycle.md"
	want := "# The life of an error\n\n" +
		"Drawn from the transition table in `server/internal/lifecycle`; do not edit by hand.\n" +
		"`go test ./server/internal/lifecycle -update` writes it anew.\n\n" +
		"```mermaid\n" + lifecycle.Diagram() + "```\n\n" + lifecycle.Table() +
		"\nWhatever is not in the table is refused with INVALID_TRANSITION (409) and changes\n" +
		"nothing. The word of a worker whose lease is gone is refused with LEASE_LOST (409).\n"
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the table says (%v): run go test ./server/internal/lifecycle -update", path, err)
	}
}
