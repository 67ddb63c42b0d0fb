package app_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// guarded is a node with a master key, or without.
func guarded(t *testing.T, database string, master []byte, log *bytes.Buffer) (*client.Client, func()) {
	t.Helper()
	o := app.Options{Database: database, Demo: true, MasterKey: master}
	o.LogTo(log)
	n := live.Start(t, o)
	return n.Client(), n.Stop
}

// Payloads open after a rotation, after the keys were wrapped, and only for nodes
// that have the master key; with a wrong one a node does not start, and nothing is
// lost by that.
func TestPayloadKeys(t *testing.T) {
	eachDatabase(t, testPayloadKeys)
}

func testPayloadKeys(t *testing.T, database string) {
	t.Helper()
	ctx, master, wrong := t.Context(), bytes.Repeat([]byte{7}, 32), bytes.Repeat([]byte{8}, 32)
	var works []recoup.ID
	deadLetter := func(c *client.Client) {
		t.Helper()
		d, err := c.DeadLetters.Record(ctx, recoup.StageFailure{
			WorkID: recoup.ID{9, byte(len(works)), 15: 1}, Pipeline: "p", Stage: "s", Class: "VALIDATION_ERROR", Payload: []byte("what it is about"),
			LastStack: "none", Context: map[string]any{"attempts": map[string]any{"s": 1}}, FirstFailureAt: time.Now(), LastFailureAt: time.Now(),
		})
		if err != nil {
			t.Fatal(err)
		}
		works = append(works, d.ErrorID)
	}
	opens := func(c *client.Client) {
		t.Helper()
		for _, id := range works {
			if p, err := c.DeadLetters.Payload(ctx, id, "a look"); err != nil || string(p) != "what it is about" {
				t.Fatalf("the payload is %q, %v", p, err)
			}
		}
	}
	var log bytes.Buffer
	c, end := guarded(t, database, nil, &log)
	deadLetter(c)
	first, err := admin.New(c).PayloadKeys.Rotate(ctx, "a try")
	if err != nil || first.WrappedBy != "" {
		t.Fatalf("rotated to %+v, %v", first, err)
	}
	deadLetter(c)
	opens(c)
	if _, err := admin.New(c).PayloadKeys.Wrap(ctx, "too early"); err == nil || !strings.Contains(err.Error(), "no master key") {
		t.Errorf("without a master key keys are wrapped: %v", err)
	}
	end()

	c, end = guarded(t, database, master, &log)
	opens(c)
	if _, err := admin.New(c).PayloadKeys.Rotate(ctx, "a master key"); err != nil {
		t.Fatal(err)
	}
	deadLetter(c)
	if done, err := admin.New(c).PayloadKeys.Wrap(ctx, "a master key"); err != nil || done.Wrapped != 3 { // two of payloads, one of tenants
		t.Errorf("wrapped: %+v, %v", done, err)
	}
	if done, err := admin.New(c).PayloadKeys.Wrap(ctx, "again"); err != nil || done.Wrapped != 0 {
		t.Errorf("wrapped again: %+v, %v", done, err)
	}
	keys, err := admin.New(c).PayloadKeys.List(ctx)
	if err != nil || len(keys.Keys) != 3 || keys.Keys[1].ID != first.ID {
		t.Fatalf("the keys are %+v, %v", keys, err)
	}
	for i, k := range keys.Keys {
		if k.WrappedBy == "" || k.Current != (i == 0) {
			t.Errorf("a key is %+v", k)
		}
	}
	opens(c)
	end()

	for _, key := range [][]byte{nil, wrong} {
		o := app.Options{Database: database, Listen: "127.0.0.1:0", Demo: true, MasterKey: key}
		if _, err := app.Open(ctx, o); !errors.Is(err, app.ErrMasterKey) || strings.Contains(err.Error(), string(key)) && len(key) > 0 {
			t.Errorf("without its master key a node says %v", err)
		}
	}
	c, end = guarded(t, database, master, &log)
	opens(c)
	end()
	bare(t, database)
	if strings.Contains(log.String(), "what it is about") {
		t.Error("a payload is in the log")
	}
}

// bare says that no key lies in the database as it is.
func bare(t *testing.T, database string) {
	t.Helper()
	s, err := app.OpenStore(t.Context(), database, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // it was read
	for _, purpose := range []string{"tenant", deadletter.KeyPurpose} {
		keys, err := s.PlatformKeys(t.Context(), purpose)
		if err != nil || len(keys) == 0 {
			t.Fatal(keys, err)
		}
		for _, k := range keys {
			if len(k.Secret) != 12+32+16 {
				t.Errorf("the key %s has %d bytes", k.ID, len(k.Secret))
			}
		}
	}
	acts, _, err := s.Audit(t.Context(), wire.AuditFilter{}, store.AuditCursor{}, 100)
	wrapped := 0
	for _, a := range acts {
		if a.Act == store.ActPlatformKeyWrap {
			wrapped++
		}
	}
	if err != nil || wrapped != 3 {
		t.Errorf("the audit has %d of 3, %v", wrapped, err)
	}
}
