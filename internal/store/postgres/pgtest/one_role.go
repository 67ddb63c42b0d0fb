package pgtest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"recoup/internal/store/postgres"
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
	s.addSingle(t)
	name := s.create(t, "")
	s.Admin(t, fmt.Sprintf("alter database %s owner to %s", name, Single))
	return s.url(Single, name)
}

// addSingle creates the role if the server has none yet.
func (s *Server) addSingle(t testing.TB) {
	t.Helper()
	s.Admin(t, "do $$ begin create role "+Single+" login; exception when duplicate_object or unique_violation then null; end $$")
}

// OpenOneRole opens a fresh, migrated database as its owner, who may not create roles. It is closed
// with the test.
func OpenOneRole(t testing.TB) *postgres.Store {
	t.Helper()
	url := OneRole(t)
	if err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	if err := tolerate(context.WithoutCancel(t.Context()), url, forever); err != nil {
		t.Fatal(err)
	}
	return OpenURL(t, url)
}
