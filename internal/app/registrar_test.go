package app_test

import (
	"database/sql"
	"testing"

	_ "modernc.org/sqlite"

	"recoup/internal/app"
	"recoup/internal/store/sqlite/sqlitetest"
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
