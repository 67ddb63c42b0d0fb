package benchcli

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	adminapi "github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
	"github.com/recoup-dev/recoup/server/test/load"
)

// target is the server that is measured.
type target struct {
	command.ServerFlags
	allowed string
}

func (t *target) add(cmd *cobra.Command) {
	t.Add(cmd, "server `URL`; required, and not taken from $RECOUP_SERVER")
	cmd.Flags().StringVar(&t.allowed, "allow-host", "", "permit a server that is not on this machine: its `HOST`, as in --server")
}

// check refuses a server that nobody has named on purpose.
func (t *target) check() error {
	if t.Server == "" {
		return command.Usagef("--server is missing: a benchmark writes to its server, so it must be named here; $RECOUP_SERVER does not count")
	}
	u, err := url.Parse(t.Server)
	if err != nil || u.Hostname() == "" {
		return command.Usagef("--server is %q: expected a URL such as %s", t.Server, command.DefaultServer)
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	switch {
	case host == "localhost", ip != nil && ip.IsLoopback(), t.allowed == host:
		return nil
	case t.allowed != "":
		return command.Usagef("--allow-host is %q, and the host of --server is %q: expected the same", t.allowed, host)
	}
	return command.Usagef("--server is %s, which is not this machine: a benchmark writes to its server, and can fire alerts there\nRepeat it with --allow-host %s if that server is there to be tested", t.Server, host)
}

// connect makes a client with a connection for each of so many at once.
func (t *target) connect(now func() time.Time, clients int, timeout time.Duration) (*client.Client, error) {
	return t.Connect(now, timeout, func(o *client.Options) {
		if standard, ok := http.DefaultTransport.(*http.Transport); ok {
			own := standard.Clone()
			own.MaxIdleConns, own.MaxIdleConnsPerHost = clients, clients
			o.HTTP = &http.Client{Transport: own}
		}
	})
}

// version is what the server says of itself; empty: nothing that could be read.
func (t *target) version(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(t.Server, "/")+"/healthz", nil)
	if err != nil {
		return ""
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	var said struct{ Version, Revision string }
	if json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 1<<16)).Decode(&said) != nil {
		return ""
	}
	return strings.TrimSpace(said.Version + " " + said.Revision)
}

// permit refuses a key that may not do all of a benchmark, before anything is written.
func permit(key wire.Key, mix load.Mix, keep bool) error {
	if len(key.Hubs) > 0 {
		return fmt.Errorf("the key %s is for the hubs %s: a benchmark needs one for all hubs, because its pipeline belongs to none", key.Hint, strings.Join(key.Hubs, ", "))
	}
	if key.Role == admin {
		return nil
	}
	for _, op := range operations {
		if mix.Has(op.name) && !slices.Contains(op.roles, key.Role) {
			return fmt.Errorf("a key of the role %s may not do %s: %s may; leave it out of --mix, or use another key", key.Role, op.name, either(op.roles))
		}
	}
	if !keep && !slices.Contains(cleaners, key.Role) {
		return fmt.Errorf("a key of the role %s may not clean up: %s may; use another key, or --keep and later 'recoup-bench clean'", key.Role, either(cleaners))
	}
	return nil
}

// either lists roles, with the one that may do everything.
func either(roles []string) string { return strings.Join(roles, ", ") + " or " + admin }

// checkTable refuses a table that a benchmark could not use, or must not.
func (b *benchmark) checkTable(ctx context.Context) error {
	tables, err := adminapi.New(b.Session.Client).System.Tables(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(tables, func(t wire.ErrorTable) bool { return t.Table == b.table })
	switch {
	case at < 0:
		return fmt.Errorf("unknown error table %q; tables are: %s", b.table, strings.Join(tableNames(tables), ", "))
	case tables[at].Archive == "":
		return fmt.Errorf("the table %s keeps its errors for ever: a benchmark could not clean up; choose another of %s", b.table, strings.Join(tableNames(tables), ", "))
	case !b.mix.Has(opClaim):
		return nil
	}
	for e, err := range b.Errors.All(ctx, recoup.ErrorFilter{Table: b.table}) {
		switch {
		case err != nil:
			return err
		case e.State.Open() && !made(&e):
			return fmt.Errorf("the table %s has open errors that are not a benchmark's, such as %s, and claims would take them: %s", b.table, e.ID, b.instead(ctx))
		}
	}
	return nil
}

// instead says what to do about a table that cannot be claimed from: take one whose errors
// are retried and that has none, or do not claim.
func (b *benchmark) instead(ctx context.Context) string {
	const without = "leave claim and ack out of --mix"
	tables, err := adminapi.New(b.Session.Client).System.Tables(ctx)
	if err != nil {
		return without
	}
	counts, err := b.Errors.Counts(ctx)
	if err != nil {
		return without
	}
	taken := map[string]bool{b.table: true}
	for _, c := range counts {
		taken[c.Table] = taken[c.Table] || c.State.Open() && c.N > 0
	}
	tables = slices.DeleteFunc(tables, func(t wire.ErrorTable) bool {
		return taken[t.Table] || t.Default != recoup.ActionRetry || t.Archive == ""
	})
	if len(tables) == 0 {
		return without
	}
	return fmt.Sprintf("choose --table %s, or %s", strings.Join(tableNames(tables), " or "), without)
}

func tableNames(tables []wire.ErrorTable) (list []string) {
	for _, t := range tables {
		list = append(list, t.Table)
	}
	return list
}
