package deadletter_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact/redacttest"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/node"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Every field of spec 002, 8.4.
func TestRecord(t *testing.T) {
	everywhere(t, func(w *world) {
		f := w.failing("llm", "network_timeout")
		f.Exhausted, f.EntityID = true, "CO-1"
		f.FirstFailureAt, f.LastFailureAt = epoch.Add(-time.Hour), epoch.Add(-time.Minute)
		f.LastStack = "*url.Error: calling: context deadline exceeded\ncaused by: dial tcp 10.0.0.7:443: i/o timeout after 3000ms"
		f.Context = map[string]any{"request_id": "req-1", "upstream_status": 504, "attempts": map[string]any{"llm": 5}, "prompt": "a secret plan", "payload_hash": "0123456789abcdef"}
		l := w.deadLetter(f)[0]
		d := w.read(l.Dead.ErrorID)
		if d.StagedWork != l {
			w.Errorf("stored is %+v, answered was %+v", d.StagedWork, l)
		}
		dead := d.Dead
		if dead.WorkID != f.WorkID || dead.Pipeline != pipeline || dead.Stage != "llm" || dead.Class != fault.CodeNetworkTimeout || !dead.Exhausted || dead.Round != 1 || dead.Step != recoup.StepNew ||
			!dead.FirstFailureAt.Equal(f.FirstFailureAt) || !dead.LastFailureAt.Equal(f.LastFailureAt) || dead.PayloadRef != f.PayloadRef || dead.PayloadHash != f.PayloadHash {
			w.Errorf("it is %+v", dead)
		}
		if !strings.HasPrefix(dead.Signature, "dial tcp ") || !strings.HasSuffix(dead.Signature, "i/o timeout after <n>ms") {
			w.Errorf("its signature is %q", dead.Signature)
		}
		if e := d.Error; e.Table != "pipeline.dead_letters" || e.State != recoup.Parked || !e.Blocking || e.EscalationLevel != 1 || e.Code != dead.Class || e.EntityID != "CO-1" {
			w.Errorf("its error is %+v", e)
		}
		var kept map[string]any
		w.must(json.Unmarshal([]byte(d.Rounds[0].Context), &kept))
		if _, there := kept["prompt"]; there || kept["request_id"] != "req-1" || kept["upstream_status"] != 504.0 || kept["payload_hash"] == nil || kept["attempts"] == nil {
			w.Errorf("its context is %v", kept)
		}
		if !strings.Contains(d.Rounds[0].LastStack, "context deadline exceeded") {
			w.Errorf("its stack is %q", d.Rounds[0].LastStack)
		}
		if ev := w.events(); len(ev) != 1 || ev[0].ID != dead.ErrorID || ev[0].Code != dead.Class || ev[0].Service != pipeline {
			w.Errorf("events are %+v", ev)
		}
		details := w.refused(first(w.Record(w.Context(), caller(ada), []recoup.StageFailure{f}, nil)), fault.CodeConflict)
		if details["error_id"] != dead.ErrorID.String() {
			w.Errorf("recorded twice: %v", details)
		}
	})
}

// first is the error of a call with one item.
func first(done []deadletter.Done, err error) error {
	if err != nil {
		return err
	}
	return done[0].Err
}

// What a policy says of classes (spec 002, 8.1): a runtime bug pages, a content
// reject is for an operator, and the rest waits with the reason of its kind.
func TestRecordByClass(t *testing.T) {
	everywhere(t, func(w *world) {
		for class, want := range map[string]recoup.ParkReason{
			"RUNTIME_BUG": recoup.NonRetryableError, "CONTENT_REJECTED": recoup.EscalationRequired,
			"VALIDATION_ERROR": recoup.NonRetryableError, "SOMETHING_OF_OURS": recoup.EscalationRequired,
		} {
			if l := w.deadLetter(w.failing("llm", class))[0]; l.Error.ParkReason != want {
				w.Errorf("%s is parked for %s, want %s", class, l.Error.ParkReason, want)
			}
		}
	})
}

// Exhaustion is kept for the round, and what could be retried is parked for it (spec
// 002, 8.5; spec 000, 4.3). What could not, for what it is.
func TestRecordExhausted(t *testing.T) {
	everywhere(t, func(w *world) {
		for _, row := range []struct {
			class     string
			exhausted bool
			want      recoup.ParkReason
		}{
			{"NETWORK_TIMEOUT", true, recoup.MaxRetriesExceeded},
			{"NETWORK_TIMEOUT", false, recoup.EscalationRequired},
			{"VALIDATION_ERROR", true, recoup.NonRetryableError},
			{"RUNTIME_BUG", true, recoup.NonRetryableError},
		} {
			f := w.failing("llm", row.class)
			f.Exhausted = row.exhausted
			d := w.read(w.deadLetter(f)[0].Dead.ErrorID)
			if d.Dead.Exhausted != row.exhausted || d.Error.ParkReason != row.want {
				w.Errorf("%s, exhausted %v: kept is %v, parked for %s, want %s", row.class, row.exhausted, d.Dead.Exhausted, d.Error.ParkReason, row.want)
			}
		}
	})
}

func TestRecordValidation(t *testing.T) {
	everywhere(t, func(w *world) {
		w.invalid(first(w.Record(w.Context(), caller(ada), []recoup.StageFailure{{Stage: "two words", Class: "+", PayloadHash: "no", LastStack: "nul \x00", Payload: make([]byte, deadletter.MaxPayload+1)}}, nil)),
			"work_id", "pipeline", "stage", "first_failure_at", "last_failure_at", "sanitized_context", "error_class", "last_stack", "payload_hash", "payload")
		f := w.failing("llm", "VALIDATION_ERROR")
		f.Table = "outreach.dol_errors"
		w.invalid(first(w.Record(w.Context(), caller(ada), []recoup.StageFailure{f}, nil)), "table")
		// Clocks differ: what lies in the future is now, what is out of order is put in order.
		f = w.failing("llm", "VALIDATION_ERROR")
		f.FirstFailureAt, f.LastFailureAt = epoch.Add(2*time.Hour), epoch.Add(time.Hour)
		if d := w.deadLetter(f)[0].Dead; !d.FirstFailureAt.Equal(epoch) || !d.LastFailureAt.Equal(epoch) {
			w.Errorf("failed from %v to %v", d.FirstFailureAt, d.LastFailureAt)
		}
		if _, err := w.Record(w.Context(), caller(ada), make([]recoup.StageFailure, deadletter.MaxBatch+1), nil); err == nil {
			w.Error("a batch above the limit was taken")
		}
	})
}

// The corpus of secrets, through stacks, contexts, notes and payloads: what comes
// out of the store holds none of them in the clear.
func TestNoSecretIsKept(t *testing.T) {
	everywhere(t, func(w *world) {
		for i, secret := range redacttest.Samples(3) {
			if testing.Short() && i%6 != 0 {
				continue
			}
			f := w.failing("llm", "VALIDATION_ERROR")
			f.LastStack = "upstream said " + secret.Text
			f.Context = map[string]any{"attempts": map[string]any{"llm": 1, secret.Text: 2}, "request_id": secret.Text, "upstream": secret.Text, "note": secret.Text, "request_ids": map[string]any{"x": secret.Text, secret.Text: "y"}}
			f.Payload = []byte(secret.Text)
			l := w.deadLetter(f)[0]
			w.take(l.Dead.ErrorID, deadletter.Triage{Cause: recoup.CauseData, Note: secret.Text})
			w.take(l.Dead.ErrorID, deadletter.Remediation{Link: "INC-1", Corrected: secret.Text, Note: secret.Text})
			d := w.read(l.Dead.ErrorID)
			p, err := w.db.Payload(w.Context(), f.WorkID)
			w.must(err)
			history, err := w.db.History(w.Context(), l.Dead.ErrorID, 10)
			w.must(err)
			written, err := json.Marshal([]any{d, history, w.events(), string(p.Sealed)})
			w.must(err)
			if leaks := func(trace string) bool { return strings.Contains(string(written)+string(p.Sealed), trace) }; slices.ContainsFunc(secret.Traces(), leaks) {
				w.Errorf("%s (%s) is kept", secret.Secret, secret.Rule)
			}
			plain, err := w.Payload(w.Context(), caller(ada), l.Dead.ErrorID, "to look")
			if err != nil || string(plain) != secret.Text {
				w.Errorf("the payload comes back as %q, %v", plain, err)
			}
			f = w.failing("llm", "VALIDATION_ERROR")
			f.PayloadRef = "https://files.example/x?token=" + secret.Secret
			if err := first(w.Record(w.Context(), caller(ada), []recoup.StageFailure{f}, nil)); err == nil && secret.Rule != "ipv4" && secret.Rule != "ipv6" {
				w.Errorf("a reference that opens is kept: %s", secret.Rule)
			}
		}
	})
}

// Every look at a payload is written down, and it goes when its dead letter does.
func TestPayload(t *testing.T) {
	everywhere(t, func(w *world) {
		f, other := w.failing("llm", "VALIDATION_ERROR"), w.failing("llm", "VALIDATION_ERROR")
		f.Payload, other.Payload = []byte("mine"), []byte("theirs")
		letters := w.deadLetter(f, other)
		id := letters[0].Dead.ErrorID
		w.invalid(second(w.Payload(w.Context(), caller("eve"), id, " ")), "reason")
		if plain, err := w.Payload(w.Context(), caller("eve"), id, "to look"); err != nil || string(plain) != "mine" {
			w.Errorf("got %q, %v", plain, err)
		}
		rows, _, err := w.db.Audit(w.Context(), wire.AuditFilter{Act: "dead_letter.payload"}, store.AuditCursor{}, 10)
		if err != nil || len(rows) != 1 || rows[0].Actor != "eve" || rows[0].Target != id.String() || rows[0].Reason != "to look" {
			w.Errorf("the audit has %+v, %v", rows, err)
		}
		w.must(w.apply(id, lifecycle.ArchiveNow{By: ada, Reason: "not needed"}))
		if _, err := w.Payload(w.Context(), caller("eve"), id, "to look"); !errors.Is(err, sqldb.ErrNotFound) {
			w.Errorf("archived, it is answered with %v", err)
		}
		details := w.refused(second(w.Take(w.Context(), caller(ada), id, triage, nil)), fault.CodeInvalidTransition)
		if details["reason"] != "ARCHIVED" {
			w.Errorf("archived: %v", details)
		}
		again := w.failing("fetch", "VALIDATION_ERROR")
		again.WorkID = f.WorkID
		if l := w.deadLetter(again)[0]; l.Dead.PreviousID != id || l.Dead.Round != 1 {
			w.Errorf("the same work later is %+v", l.Dead)
		}
	})
}

// A request that is sent again under its receipt is the same one, with one event.
func TestReceipts(t *testing.T) {
	everywhere(t, func(w *world) {
		f := w.failing("llm", "VALIDATION_ERROR")
		receipt := &store.StagedReceipt{Scope: "key", Key: "k1", Hash: [32]byte{1}, ExpiresAt: epoch.Add(time.Hour)}
		receipts := func(int) *store.StagedReceipt { return receipt }
		var ids []recoup.ID
		for i := range 3 {
			w.wait(time.Second)
			done, err := w.Record(w.Context(), caller(ada), []recoup.StageFailure{f}, receipts)
			w.must(err)
			w.must(done[0].Err)
			if done[0].Repeated != (i > 0) {
				w.Errorf("time %d: repeated %v", i+1, done[0].Repeated)
			}
			ids = append(ids, done[0].Letter.Dead.ErrorID)
		}
		if ids[0] != ids[1] || ids[1] != ids[2] || len(w.events()) != 1 {
			w.Errorf("ids %v, events %v", ids, w.events())
		}
		receipt.Hash = [32]byte{2}
		if err := first(w.Record(w.Context(), caller(ada), []recoup.StageFailure{f}, receipts)); !errors.Is(err, store.ErrConflict) {
			w.Errorf("another request under the key: %v", err)
		}
	})
}

// A hash that is a secret in hexadecimal digits is refused.
func TestHashThatIsText(t *testing.T) {
	w := newWorld(t, node.SQLite(t))
	f := w.failing("llm", "NETWORK_TIMEOUT")
	f.PayloadHash = hex.EncodeToString([]byte("+49 171 4918081"))
	w.refused(w.CheckFailure(f), fault.CodeValidationError)
	f.PayloadHash = "30ff129980004107"
	w.must(w.CheckFailure(f))
}
