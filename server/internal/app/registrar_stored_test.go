package app_test

import (
	"cmp"
	"errors"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// A policy is stored first, its tables and codes are brought in line after. Where a node
// dies in between, the next start brings them in line.
func TestPolicyStoredWithoutItsTables(t *testing.T) {
	live.Everywhere(t, func(t *testing.T, d live.Database) {
		var key string
		n, err := app.Open(t.Context(), app.Options{Database: d.Nodes, Listen: "127.0.0.1:0", FirstKey: func(secret string) error { key = secret; return nil }})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(n.StorePolicy(t.Context(), ownPolicy), n.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		next := live.Start(t, app.Options{Database: d.Nodes})
		got, err := next.As(client.Options{Key: cmp.Or(key, next.Key)}).Report(t.Context(), recoup.Report{Table: "own.errors", EntityID: "o-1", Code: "OWN_CODE"})
		if err != nil {
			t.Fatal(err)
		}
		if e := got.Error; e.Table != "own.errors" || e.Code != "OWN_CODE" || e.State != recoup.Parked {
			t.Errorf("the error is %s in %s, %s", e.Code, e.Table, e.State)
		}
	})
}

const ownPolicy = "version: 2.5.0\ntables: {own.errors: {}}\ncodes: {OWN_CODE: {class: fatal, description: Ours}}\n"
