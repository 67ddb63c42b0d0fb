package pgtest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/postgres"
)

// Single is a role that owns databases and may not create roles, as the one role of a managed
// database.
const Single = "single"

// bare returns a server of this process that has no roles of Recoup.
var bare = sync.OnceValues(func() (*Server, error) { return start(Options{}) })

// OneRole returns the URL of a fresh, empty database on a server without roles of Recoup. Its owner
// may not create roles. Tests that create roles start a server of their own: see [Server.OneRole].
func OneRole(t testing.TB) string {
	t.Helper()
	s, err := bare()
	if err != nil {
		t.Fatal(err)
	}
	return s.OneRole(t)
}

// OneRole returns the URL of a fresh, empty database on this server, whose owner may not create roles.
func (s *Server) OneRole(t testing.TB) string {
	t.Helper()
	s.Admin(t, addSingle)
	name := s.create(t, "")
	s.Admin(t, fmt.Sprintf("alter database %s owner to %s", name, Single))
	return s.url(Single, name)
}

// addSingle creates the role if the server has none yet.
const addSingle = "do $$ begin create role " + Single + " login; exception when duplicate_object or unique_violation then null; end $$"

// OpenOneRole opens a fresh, migrated database as its owner, who may not create roles. It is closed
// with the test.
func OpenOneRole(t testing.TB) (s *postgres.Store, url string) {
	t.Helper()
	server, err := bare()
	if err != nil {
		t.Fatal(err)
	}
	source, err := singleTemplate()
	if err != nil {
		t.Fatal(err)
	}
	name := server.create(t, "template "+source)
	server.Admin(t, fmt.Sprintf("alter database %s owner to %s", name, Single))
	url = server.url(Single, name)
	return OpenURL(t, url), url
}

// singleTemplate makes a database that was migrated with one role, and that others are cloned from.
var singleTemplate = sync.OnceValues(func() (string, error) {
	const name = "single_template"
	s, err := bare()
	if err != nil {
		return "", err
	}
	ctx := context.Background()
	if err := s.admin(ctx, addSingle, "create database "+name+" owner "+Single); err != nil {
		return "", err
	}
	if err := postgres.Migrate(ctx, s.url(Single, name)); err != nil {
		return "", err
	}
	return name, tolerate(ctx, s.url(Single, name), forever)
})
