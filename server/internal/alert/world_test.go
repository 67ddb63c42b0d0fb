package alert_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/node"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// world is a node whose ledger is filled by hand.
type world struct {
	*node.Node
	made int
}

// silent is a ledger that nothing is written to: events are inserted by hand.
type silent struct{}

func (silent) Keep(_ context.Context, _ time.Time, events []recoup.Event) ([]*store.Event, error) {
	return make([]*store.Event, len(events)), nil
}

// everywhere runs a test on each store.
func everywhere(t *testing.T, test func(w *world)) {
	t.Helper()
	node.Everywhere(t, func(t *testing.T, db node.Store) {
		w := &world{Node: node.On(t, db)}
		w.Engine.Ledger = silent{}
		test(w)
	})
}

// report reports n failures of as many entities.
func (w *world) report(n int, table, code string) []recoup.Error {
	w.Helper()
	var made []recoup.Error
	for len(made) < n {
		reports := make([]recoup.Report, min(n-len(made), 500))
		for i := range reports {
			w.made++
			reports[i] = recoup.Report{Table: table, EntityID: fmt.Sprintf("e%d", w.made), Code: code}
		}
		made = append(made, w.Report(reports...)...)
	}
	return made
}

func (w *world) act(id recoup.ID, in lifecycle.Input) {
	w.Helper()
	w.Act(engine.Act{ID: id, Input: in})
}

// claim leases what is due in a table.
func (w *world) claim(table string) []recoup.Error {
	w.Helper()
	list, err := w.Engine.Claim(w.Context(), node.Ada, recoup.RetryClaim{Tables: []string{table}, Worker: "w1", Limit: 1000, LeaseSeconds: 60})
	w.Must(err)
	return list
}

// processed counts work of a table or, without one, requests of a service.
func (w *world) processed(table, service string, n, failed int64) {
	w.Helper()
	w.Must(w.DB.AddProcessed(w.Context(), []store.Processed{{Minute: store.Minute(w.Now()), Table: table, Service: service, N: n, Failed: failed}}))
}

// events lets n events happen.
func (w *world) events(n int, code recoup.Code, provider string) {
	w.Helper()
	list := make([]store.Event, n)
	for i := range list {
		list[i] = store.Event{Event: recoup.Event{ID: w.ID(), TS: w.Now(), Code: code, Service: "api", ExternalService: provider, CorrelationID: w.ID()}}
	}
	_, err := w.DB.InsertEvents(w.Context(), list)
	w.Must(err)
}

func (w *world) term() store.Term {
	w.Helper()
	term, held, err := w.DB.Lead(w.Context(), store.Bid{Name: "clockwork", Node: "n1", Now: w.Now(), Tenure: time.Hour})
	if err != nil || !held {
		w.Fatalf("it does not lead: %v", err)
	}
	return term
}

// evaluate judges, and returns what is open then, as rule and scope.
func (w *world) evaluate() []string {
	w.Helper()
	_, err := w.Alerts.Run(w.Context(), w.term())
	w.Must(err)
	open, err := w.DB.OpenAlerts(w.Context())
	w.Must(err)
	var list []string
	for _, a := range open {
		list = append(list, fmt.Sprintf("%s %s %s", a.Rule, a.Scope, a.State))
	}
	return list
}

// alert returns the open alert of a rule.
func (w *world) alert(rule string) wire.Alert {
	w.Helper()
	open, err := w.DB.OpenAlerts(w.Context())
	w.Must(err)
	i := slices.IndexFunc(open, func(a wire.Alert) bool { return a.Rule == rule })
	if i < 0 {
		w.Fatalf("there is no alert of %s: %+v", rule, open)
	}
	return open[i]
}

// heard returns the notices of the outbox that say that a rule holds.
func (w *world) heard(rule string) []received {
	w.Helper()
	notices, _, err := w.DB.Notices(w.Context(), wire.NoticeFilter{Kind: wire.NoticeAlert}, sqldb.Page{Limit: sqldb.MaxPage})
	w.Must(err)
	var list []received
	for _, n := range notices {
		one := received{Notice: n}
		w.Must(json.Unmarshal([]byte(n.Body), &one.Body))
		if slices.ContainsFunc(one.Alerts, func(l alert.Line) bool { return l.Rule == rule }) {
			list = append(list, one)
		}
	}
	return list
}
