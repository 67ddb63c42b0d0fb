package keys_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// aKey is what keys create prints, and nothing else.
var aKey = regexp.MustCompile(`^rdb_[a-z2-7]{32}\n$`)

// Keys are made in two ways, through the server and in its database, and are
// good for the server either way.
func TestKeys(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	for name, do := range map[string]func(...string) clitest.Result{"server": n.Run, "database": n.Direct} {
		refuseKeys(t, name, do)
		made := do("keys", "create", "--role", "operator", "--name", name, "--days", "2")
		if made.Status != command.ExitDone || !aKey.MatchString(made.Out) || !strings.Contains(made.Err, ": operator "+name+", for all hubs, until 2026-02-07.") {
			t.Fatalf("%s: status %d, printed %q, said %q", name, made.Status, made.Out, made.Err)
		}
		hub := do("keys", "create", "--role", "worker", "--name", "by "+name, "--hub", "DOL Filings")
		if got := keyNamed(n, "by "+name).Hubs; hub.Status != command.ExitDone || len(got) != 1 || got[0] != "dol-filings" {
			t.Errorf("%s: a key for a hub by its name ends with %d: %q %q", name, hub.Status, got, hub.Err)
		}
		secret := strings.TrimSpace(made.Out)
		works := func() bool { return n.As(command.Streams{}, secret, "errors", "list").Status == command.ExitDone }
		id := keyNamed(n, name).ID.String()
		if !works() {
			t.Errorf("%s: the new key does not work", name)
		}
		rotated := do("keys", "rotate", id, "--hours", "1", "--reason", "routine")
		if rotated.Status != command.ExitDone || !aKey.MatchString(rotated.Out) || !works() {
			t.Errorf("%s: rotation ends with %d: %q %q", name, rotated.Status, rotated.Out, rotated.Err)
		}
		if again := do("keys", "rotate", id); again.Status != command.ExitRefused || !strings.Contains(strings.ToLower(again.Err), "the key is revoked, or another took over from it before") {
			t.Errorf("%s: a second rotation ends with %d: %q", name, again.Status, again.Err)
		}
		if revoked := do("keys", "revoke", id, "--reason", "over"); revoked.Status != command.ExitDone || revoked.Out != id+" revoked: operator "+name+"\n" {
			t.Errorf("%s: revoking ends with %d: %q %q", name, revoked.Status, revoked.Out, revoked.Err)
		}
		n.Wait(4 * time.Second) // a server remembers keys for three
		if works() {
			t.Errorf("%s: the revoked key works", name)
		}
		if gone := do("keys", "revoke", "0198c0de-0000-7000-8000-000000000001"); gone.Status != command.ExitRefused || !strings.Contains(gone.Err, "There is nothing of that name or id") && !strings.Contains(gone.Err, "there is no key with this id") {
			t.Errorf("%s: revoking nothing ends with %d: %q", name, gone.Status, gone.Err)
		}
	}
}

// keyNamed finds the oldest key of a name.
func keyNamed(n *clitest.Node, name string) wire.Key {
	n.T.Helper()
	var list struct{ Keys []wire.Key }
	clitest.Parse(n.T, n.Must("keys", "list", "--json"), &list)
	for i := len(list.Keys) - 1; i >= 0; i-- {
		if list.Keys[i].Name == name {
			return list.Keys[i]
		}
	}
	n.T.Fatalf("no key is named %s", name)
	return wire.Key{}
}

// Whoever has the database needs no server, and no key, to see and make keys.
func TestKeysList(t *testing.T) {
	t.Parallel()
	n := clitest.New(t, false)
	n.Wait(time.Second)
	n.Direct("keys", "create", "--role", "worker", "--name", "nightly", "--hub", "dol-filings", "--hub", "company-target")
	n.Wait(time.Second)
	n.Direct("keys", "create", "--role", "reader", "--name", "short", "--days", "1")
	nightly := clitest.AnyID.FindAllString(n.Direct("keys", "list").Out, -1)[1]
	n.Direct("keys", "revoke", nightly)
	n.Wait(48 * time.Hour)
	clitest.Golden(t, "keys.golden", n.Plain(n.Direct("keys", "list").Out))
	valid := n.Direct("keys", "list", "--valid")
	if strings.Count(valid.Out, "\n") != 2 || !strings.Contains(valid.Out, "  first admin  ") {
		t.Errorf("valid are\n%s", valid.Out)
	}
}

// refuseKeys asks for keys that there cannot be.
func refuseKeys(t *testing.T, name string, do func(...string) clitest.Result) {
	t.Helper()
	r := do("keys", "create", "--role", "worker", "--name", "x", "--hub", "atlantis")
	if r.Status != command.ExitRefused || r.Out != "" || !strings.Contains(r.Err, "recoup: VALIDATION_ERROR: ") || !strings.Contains(r.Err, "  hubs[0]  unknown hub; hubs are: company-target (Company Target), ") {
		t.Errorf("%s: status %d: %q %q", name, r.Status, r.Out, r.Err)
	}
	if r := do("keys", "create", "--role", "worker", "--name", "AKIAIOSFODNN7EXAMPLE"); r.Status != command.ExitRefused || strings.Contains(r.Err, "AKIA") {
		t.Errorf("%s: a secret as a name: status %d: %q", name, r.Status, r.Err)
	}
}

// A database that does not exist has no keys, and is not made to say so.
func TestKeysOfNothing(t *testing.T) {
	t.Parallel()
	missing := "sqlite:" + t.TempDir() + "/none.db"
	for _, act := range []string{"list", "revoke 0198c0de-0000-7000-8000-000000000001", "rotate 0198c0de-0000-7000-8000-000000000001"} {
		_, stderr, status := clitest.Run(t, append(strings.Fields("keys "+act), "--database", missing)...)
		if status != command.ExitRefused || !strings.Contains(stderr, "there is no database file of that name: ") || !strings.Contains(stderr, "\n--database names another") {
			t.Errorf("%s: status %d: %s", act, status, stderr)
		}
	}
}

// Keys are made in a database by the machine's clock, without a server.
func TestKeysByTheRealClock(t *testing.T) {
	t.Parallel()
	n := clitest.New(t, false)
	said, stderr, status := clitest.Run(t, "keys", "create", "--role", "reader", "--name", "x", "--database", "sqlite:"+n.File)
	if status != 0 || !strings.Contains(said+stderr, "Key ") {
		t.Errorf("status %d, said %q and %q", status, said, stderr)
	}
}
