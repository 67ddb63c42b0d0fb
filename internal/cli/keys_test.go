package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"recoup/client"
)

// aKey is what keys create prints, and nothing else.
var aKey = regexp.MustCompile(`^rdb_[a-z2-7]{32}\n$`)

// direct executes a command on the node's database, without its server.
func (n *testNode) direct(args ...string) result {
	var out, stderr bytes.Buffer
	s := Streams{In: new(bytes.Buffer), Out: &out, Err: &stderr, Now: n.now}
	status := execute(n.t.Context(), append(args, "--database", "sqlite:"+n.file), s)
	return result{out.String(), stderr.String(), status}
}

// Keys are made in two ways, through the server and in its database, and are
// good for the server either way.
func TestKeys(t *testing.T) {
	t.Parallel()
	n := startNode(t, false)
	for name, do := range map[string]func(...string) result{"server": n.run, "database": n.direct} {
		refuseKeys(t, name, do)
		made := do("keys", "create", "--role", "operator", "--name", name, "--days", "2")
		if made.status != ExitDone || !aKey.MatchString(made.out) || !strings.Contains(made.err, ": operator "+name+", for all hubs, until 2026-02-07.") {
			t.Fatalf("%s: status %d, printed %q, said %q", name, made.status, made.out, made.err)
		}
		secret := strings.TrimSpace(made.out)
		works := func() bool { return n.as(Streams{}, secret, "errors", "list").status == ExitDone }
		id := n.keyNamed(name).ID.String()
		if !works() {
			t.Errorf("%s: the new key does not work", name)
		}
		rotated := do("keys", "rotate", id, "--hours", "1", "--reason", "routine")
		if rotated.status != ExitDone || !aKey.MatchString(rotated.out) || !works() {
			t.Errorf("%s: rotation ends with %d: %q %q", name, rotated.status, rotated.out, rotated.err)
		}
		if again := do("keys", "rotate", id); again.status != ExitRefused || !strings.Contains(strings.ToLower(again.err), "the key is revoked, or another took over from it before") {
			t.Errorf("%s: a second rotation ends with %d: %q", name, again.status, again.err)
		}
		if revoked := do("keys", "revoke", id, "--reason", "over"); revoked.status != ExitDone || revoked.out != id+" revoked: operator "+name+"\n" {
			t.Errorf("%s: revoking ends with %d: %q %q", name, revoked.status, revoked.out, revoked.err)
		}
		n.advance(4 * time.Second) // a server remembers keys for three
		if works() {
			t.Errorf("%s: the revoked key works", name)
		}
		if gone := do("keys", "revoke", "0198c0de-0000-7000-8000-000000000001"); gone.status != ExitRefused || !strings.Contains(gone.err, "There is nothing of that name or id") && !strings.Contains(gone.err, "there is no key with this id") {
			t.Errorf("%s: revoking nothing ends with %d: %q", name, gone.status, gone.err)
		}
	}
}

// keyNamed finds the oldest key of a name.
func (n *testNode) keyNamed(name string) client.Key {
	n.t.Helper()
	var list struct{ Keys []client.Key }
	parse(n.t, n.must("keys", "list", "--json"), &list)
	for i := len(list.Keys) - 1; i >= 0; i-- {
		if list.Keys[i].Name == name {
			return list.Keys[i]
		}
	}
	n.t.Fatalf("no key is named %s", name)
	return client.Key{}
}

// Whoever has the database needs no server, and no key, to see and make keys.
func TestKeysList(t *testing.T) {
	t.Parallel()
	n := newNode(t, false)
	n.advance(time.Second)
	n.direct("keys", "create", "--role", "worker", "--name", "nightly", "--hub", "dol-filings", "--hub", "company-target")
	n.advance(time.Second)
	n.direct("keys", "create", "--role", "reader", "--name", "short", "--days", "1")
	nightly := anyID.FindAllString(n.direct("keys", "list").out, -1)[1]
	n.direct("keys", "revoke", nightly)
	n.advance(48 * time.Hour)
	golden(t, "keys.golden", n.plain(n.direct("keys", "list").out))
	valid := n.direct("keys", "list", "--valid")
	if strings.Count(valid.out, "\n") != 2 || !strings.Contains(valid.out, "  first admin  ") {
		t.Errorf("valid are\n%s", valid.out)
	}
}

// refuseKeys asks for keys that there cannot be.
func refuseKeys(t *testing.T, name string, do func(...string) result) {
	t.Helper()
	r := do("keys", "create", "--role", "worker", "--name", "x", "--hub", "atlantis")
	if r.status != ExitRefused || r.out != "" || !strings.Contains(r.err, "recoup: VALIDATION_ERROR: ") || !strings.Contains(r.err, "  hubs[0]  the policy has no hub") {
		t.Errorf("%s: status %d: %q %q", name, r.status, r.out, r.err)
	}
	if r := do("keys", "create", "--role", "worker", "--name", "AKIAIOSFODNN7EXAMPLE"); r.status != ExitRefused || strings.Contains(r.err, "AKIA") {
		t.Errorf("%s: a secret as a name: status %d: %q", name, r.status, r.err)
	}
}

// A database that does not exist has no keys, and is not made to say so.
func TestKeysOfNothing(t *testing.T) {
	t.Parallel()
	missing := "sqlite:" + t.TempDir() + "/none.db"
	for _, act := range []string{"list", "revoke 0198c0de-0000-7000-8000-000000000001", "rotate 0198c0de-0000-7000-8000-000000000001"} {
		_, stderr, status := run(t, append(strings.Fields("keys "+act), "--database", missing)...)
		if status != ExitRefused || !strings.Contains(stderr, "there is no database file of that name: ") || !strings.Contains(stderr, "\n--database names another") {
			t.Errorf("%s: status %d: %s", act, status, stderr)
		}
	}
}

// Keys are made in a database by the machine's clock, without a server.
func TestKeysByTheRealClock(t *testing.T) {
	t.Parallel()
	n := newNode(t, false)
	said, stderr, status := run(t, "keys", "create", "--role", "reader", "--name", "x", "--database", "sqlite:"+n.file)
	if status != 0 || !strings.Contains(said+stderr, "Key ") {
		t.Errorf("status %d, said %q and %q", status, said, stderr)
	}
}
