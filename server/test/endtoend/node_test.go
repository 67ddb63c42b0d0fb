package endtoend

import (
	"bytes"
	"log/slog"
	"os"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	testnode "github.com/recoup-dev/recoup/server/internal/test/node"
)

// soaking reports whether there is time for every case.
func soaking() bool { return os.Getenv("RECOUP_SOAK") != "" }

// database is where a node keeps its data, as its owner and its nodes reach it.
type database = live.Database

// onBoth runs a test on every kind of database.
func onBoth(t *testing.T, test func(*testing.T, database)) {
	t.Helper()
	live.Everywhere(t, test)
}

// onEither runs a test on one kind of database, and in make nightly on every kind.
func onEither(t *testing.T, test func(*testing.T, database)) {
	t.Helper()
	live.Either(t, test)
}

// node is a running one in the test's own process, with everything it logs.
type node struct {
	*live.Node
	logs *text
}

func startNode(t *testing.T, d database) *node {
	t.Helper()
	o, logs := app.Options{Database: d.Nodes, LogLevel: slog.LevelDebug, Limits: httpapi.Limits{PerKey: 1e6}, MasterKey: bytes.Repeat([]byte{7}, 32)}, &text{}
	o.LogTo(logs)
	return &node{live.Start(t, o), logs}
}

// text is what somebody writes while a test reads it.
type text = testnode.Log
