package app_test

import (
	"database/sql"
	"errors"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite/sqlitetest"
)

// A code that somebody has registered by plain SQL, with no more than spec 003
// asks for, is known; one that cannot be understood keeps nobody from starting.
func TestCodesByPlainSQL(t *testing.T) {
	t.Parallel()
	path := sqlitetest.File(t, t.TempDir())
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `insert into error_code (code, domain, description) values ('SPARSE', 'data', '');
		insert into error_code (code, domain, description, http_status, alert_group) values ('ODD', 'data', 'odd', 500, 'nonsense')`)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	n, err := app.Open(t.Context(), app.Options{Database: "sqlite:" + path, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if _, known := n.Codes().Lookup("SPARSE"); !known {
		t.Error("SPARSE is not known")
	}
	if _, known := n.Codes().Lookup("ODD"); known {
		t.Error("ODD is known")
	}
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// What the policy says of its codes stands, also once the node follows the database: a
// code of plain SQL that claims one of their names is the one that stays unknown.
func TestPolicyCodesStand(t *testing.T) {
	t.Parallel()
	path := sqlitetest.File(t, t.TempDir())
	n, err := app.Open(t.Context(), app.Options{Database: "sqlite:" + path, Listen: "127.0.0.1:0", First: []byte(`version: 1
tables: {app.errors: {}}
codes:
  CARD_REFUSED: {class: fatal, description: The bank said no}
`)})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `insert into error_code (code, domain, description, definition) values ('AAA', 'data', 'odd', '{"aliases": ["CARD_REFUSED"]}')`); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Close(), n.Refresh(t.Context())); err != nil {
		t.Fatal(err)
	}
	if def, known := n.Codes().Lookup("CARD_REFUSED"); !known || def.Code != "CARD_REFUSED" {
		t.Errorf("the policy's code is %+v", def)
	}
	if _, known := n.Codes().Lookup("AAA"); known {
		t.Error("a code with another's name is known")
	}
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
