package endtoend

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// TestConnectionsExhausted lets others take every connection of the server, also those
// that the node had. The node answers with an error that may be retried and names the
// cause, says that it is not ready and why, stops leading when its term is over, and
// goes on by itself once there is room again.
func TestConnectionsExhausted(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{Settings: []string{"max_connections=24"}})
	owner, nodes := server.Migrated(t)
	pgtest.HoldToClock(t, owner)
	s := newSite(t, database{Kind: "postgres", Owner: owner, Nodes: nodes})
	s.start()
	c, err := client.New(client.Options{Server: "http://" + *s.address.Load(), Key: s.key(), Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	report := func(entity string) error {
		_, err := c.Report(t.Context(), recoup.Report{Table: workTable, EntityID: entity, Code: string(fault.CodeValidationError)}, client.NoRetry())
		return err
	}
	e := &exhaustion{T: t, site: s, owner: owner}
	if err := report("before"); err != nil {
		t.Fatal(err)
	}
	e.until("the node does not lead", func() bool { return strings.Contains(e.get("/metrics"), "recoup_leader 1\n") })
	e.takeAll()
	var refused *fault.Error
	if err := report("meanwhile"); !errors.As(err, &refused) || refused.Code != fault.CodeDatabaseConnectionError || !refused.Retryable(false) {
		t.Errorf("a report was answered with %v", err)
	}
	if said := e.get("/readyz"); !strings.Contains(said, "too_many_connections") {
		t.Errorf("without connections, /readyz says %s", said)
	}
	e.until("it leads although it reaches nobody", func() bool { return strings.Contains(e.get("/metrics"), "recoup_leader 0\n") })
	e.release()
	e.until("it does not recover", func() bool { return report("after") == nil && strings.Contains(e.get("/readyz"), `"ready"`) })
	e.until("it does not lead again", func() bool { return strings.Contains(e.get("/metrics"), "recoup_leader 1\n") })
}

// exhaustion is a node, and others that take what connections there are.
type exhaustion struct {
	*testing.T
	site  *site
	owner string
	taken []*pgx.Conn
}

// takeAll ends the node's sessions and takes their place, until it has none.
func (e *exhaustion) takeAll() {
	e.Helper()
	admin, err := pgx.Connect(e.Context(), strings.Replace(e.owner, "recoup_owner@", "postgres@", 1))
	if err != nil {
		e.Fatal(err)
	}
	e.taken = append(e.taken, admin)
	for refused := 0; refused < 30; { // in a row, while the node tries as well
		conn, err := pgx.Connect(e.Context(), e.owner)
		if err == nil {
			e.taken, refused = append(e.taken, conn), 0
			continue
		}
		refused++
		if _, err := admin.Exec(e.Context(), "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'recoup_app'"); err != nil {
			e.Fatal(err)
		}
	}
}

func (e *exhaustion) release() {
	for _, conn := range e.taken {
		_ = conn.Close(context.WithoutCancel(e.Context()))
	}
}

// get returns what the node answers, whatever its status.
func (e *exhaustion) get(path string) string {
	request, err := http.NewRequestWithContext(e.Context(), http.MethodGet, "http://"+*e.site.address.Load()+path, nil)
	if err != nil {
		e.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+e.site.key())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(response.Body)
	return string(text)
}

// until looks again and again until something is so.
func (e *exhaustion) until(otherwise string, so func() bool) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), 2*time.Minute)
	defer cancel()
	for !so() {
		if retry.Sleep(ctx, 100*time.Millisecond) != nil {
			e.Fatalf("%s\n%s\n%s", otherwise, e.get("/readyz"), e.site.log)
		}
	}
}
