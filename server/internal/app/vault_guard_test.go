package app_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/live"
)

var masters = [][]byte{bytes.Repeat([]byte{7}, 32), bytes.Repeat([]byte{8}, 32)}

// eachDatabase runs a test on a new database of each kind.
func eachDatabase(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	live.Everywhere(t, func(t *testing.T, d live.Database) { test(t, d.Nodes) })
}

// refusedKey wants a conflict that speaks of master keys.
func refusedKey(t *testing.T, err error, says string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.CodeConflict || !strings.Contains(f.Message, says) {
		t.Errorf("got %v, want a conflict that says %q", err, says)
	}
}

// stored reads the keys as they lie in the database.
func stored(t *testing.T, database string) (keys []store.PlatformKey) {
	t.Helper()
	s, err := app.OpenStore(t.Context(), database, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, purpose := range []string{"tenant", deadletter.KeyPurpose} {
		list, err := s.PlatformKeys(t.Context(), purpose)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, list...)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return keys
}

// Nodes with different master keys, and one without, cannot leave keys that no node
// opens: whoever comes second is refused, and changes nothing.
func TestOneMasterKey(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database string) {
		ctx := t.Context()
		var log bytes.Buffer
		none, endNone := guarded(t, database, nil, &bytes.Buffer{})
		a, endA := guarded(t, database, masters[0], &log)
		b, endB := guarded(t, database, masters[1], &bytes.Buffer{})
		if !strings.Contains(log.String(), "recoup keys payload wrap") {
			t.Errorf("bare keys beside a master key are not logged: %s", log.String())
		}
		if _, err := admin.New(a).PayloadKeys.Rotate(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		before := stored(t, database)
		for says, c := range map[string]*client.Client{"has no master key": none, "another master key": b} {
			_, err := admin.New(c).PayloadKeys.Rotate(ctx, "too late")
			refusedKey(t, err, says)
			_, err = admin.New(c).TenantKeys.Rotate(ctx, "too late")
			refusedKey(t, err, says)
			_, err = admin.New(c).PayloadKeys.Wrap(ctx, "too late")
			refusedKey(t, err, "master key")
			if keys, err := admin.New(c).PayloadKeys.List(ctx); err != nil || len(keys.Keys) != 2 { // they can be listed all the same
				t.Errorf("the keys are %+v, %v", keys, err)
			}
		}
		if after := stored(t, database); len(after) != len(before) {
			t.Errorf("there are %d keys, not %d", len(after), len(before))
		}
		if _, err := admin.New(a).PayloadKeys.Wrap(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		for _, k := range stored(t, database) {
			if k.WrappedBy == "" || k.WrappedBy != before[len(before)-2].WrappedBy {
				t.Errorf("the key %s is wrapped by %q", k.ID, k.WrappedBy)
			}
		}
		endA()
		endB()
		endNone()
		log.Reset()
		_, end := guarded(t, database, masters[0], &log)
		end()
		if strings.Contains(log.String(), "bare") {
			t.Errorf("sealed keys are called bare: %s", log.String())
		}
	})
}

// A node without the right master key does not start, and puts nothing in force.
func TestWrongMasterKeyChangesNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database string) {
		_, end := guarded(t, database, masters[0], &bytes.Buffer{})
		end()
		file := filepath.Join(t.TempDir(), "policy.yaml")
		text := strings.Replace(string(policy.DefaultFile()), "version: 1.0.0", "version: 9.0.0", 1)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, master := range [][]byte{nil, masters[1]} {
			o := app.Options{Database: database, Listen: "127.0.0.1:0", MasterKey: master, Policy: file, FirstKey: func(string) error { t.Error("it has made a key"); return nil }}
			if _, err := app.Open(t.Context(), o); !errors.Is(err, app.ErrMasterKey) {
				t.Errorf("a node says %v", err)
			}
		}
		s, err := app.OpenStore(t.Context(), database, nil)
		if err != nil {
			t.Fatal(err)
		}
		if current, err := s.CurrentPolicy(t.Context()); err != nil || current.Version != "1.0.0" || current.Number != 1 {
			t.Errorf("in force is %s, %v", current.Version, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A node that cannot open the keys any more says so to those who ask whether it is
// ready, and follows codes and policy all the same.
func TestNotReadyWithoutKeys(t *testing.T) {
	eachDatabase(t, func(t *testing.T, database string) {
		n, err := app.Open(t.Context(), app.Options{Database: database, Listen: "127.0.0.1:0", Demo: true})
		if err != nil {
			t.Fatal(err)
		}
		ready := func() *httptest.ResponseRecorder {
			rec := httptest.NewRecorder()
			n.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "http://localhost/readyz", nil))
			return rec
		}
		if got := ready(); got.Code != http.StatusOK {
			t.Fatalf("it is not ready: %s", got.Body)
		}
		other, end := guarded(t, database, masters[0], &bytes.Buffer{})
		if _, err := admin.New(other).PayloadKeys.Rotate(t.Context(), "a master key"); err != nil {
			t.Fatal(err)
		}
		end()
		got := ready()
		for tries := 0; got.Code == http.StatusOK && tries < 1000; tries++ {
			got = ready() // while the check is slow, an answer that is young stands
		}
		if got.Code != http.StatusServiceUnavailable || !strings.Contains(got.Body.String(), "cannot open the keys") {
			t.Errorf("it answers %d, %s", got.Code, got.Body)
		}
		s, err := app.OpenStore(t.Context(), database, nil)
		if err != nil {
			t.Fatal(err)
		}
		later := fault.Definition{
			Code: "LATER_CODE", Domain: "runtime", Class: recoup.ClassFatal, Category: recoup.Operational, Severity: recoup.Medium, HTTPStatus: 422,
			Description: "It came later.", Causes: []string{"Time."}, Resolution: []string{"Wait."},
		}
		if err := s.SyncCodes(t.Context(), time.Now(), []*fault.Definition{&later}); err != nil {
			t.Fatal(err)
		}
		if err := n.Refresh(t.Context()); !errors.Is(err, app.ErrMasterKey) {
			t.Errorf("following says %v", err)
		}
		if _, known := n.Codes().Lookup(later.Code); !known {
			t.Error("it does not follow the codes")
		}
		if err := errors.Join(s.Close(), n.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
}

// A master key that others can read is reported.
func TestLooseMasterKey(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "master")
	for mode, loose := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o640: true, 0o604: true} {
		if err := errors.Join(os.WriteFile(file, []byte(base64.StdEncoding.EncodeToString(masters[0])), 0o600), os.Chmod(file, mode)); err != nil {
			t.Fatal(err)
		}
		_, o, err := app.ReadConfig(map[string]string{"master-key-file": file, "database": "sqlite:" + filepath.Join(t.TempDir(), "recoup.db")}, lookup(nil), "", noneAdded)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		o.Listen = "127.0.0.1:0"
		o.LogTo(&log)
		n, err := app.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if warned := strings.Contains(log.String(), "other users can read files with secrets"); warned != loose {
			t.Errorf("%o: the log says %s", mode, log.String())
		}
		if err := errors.Join(n.Close(context.Background()), os.Remove(file)); err != nil {
			t.Error(err)
		}
	}
}
