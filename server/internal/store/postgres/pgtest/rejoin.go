package pgtest

import (
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Host is where the server listens, as the parameter host of an address.
func (s *Server) Host() string { return s.dir }

// Rejoin makes a server that was stopped or killed a standby of another, from a fresh
// copy of its files, at the address that it had.
func (s *Server) Rejoin(t testing.TB, primary *Server) {
	t.Helper()
	if err := s.rejoin(primary); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) rejoin(primary *Server) error {
	if err := os.RemoveAll(s.data()); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	if err := s.copyFrom(primary); err != nil {
		return err
	}
	return s.Restart()
}

// Answer asks the server's superuser a question whose answer is a number.
func (s *Server) Answer(t testing.TB, question string) (n int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.url(superuser, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), question).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
