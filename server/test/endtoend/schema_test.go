package endtoend

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/test/program"
)

// ownerSQL runs statements as the owner of the schema.
func ownerSQL(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err == nil {
		_, err = conn.Exec(t.Context(), sql)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A node that may not change a schema that is too old says who can, and how.
func TestOldSchema(t *testing.T) {
	t.Parallel()
	owner, nodes := pgtest.Migrated(t)
	ownerSQL(t, owner, "delete from recoup.schema_version where version_id = (select max(version_id) from recoup.schema_version)")
	out, err := exec.CommandContext(t.Context(), program.Path(t), "serve", "--listen", "127.0.0.1:0", "--database", nodes).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "run recoup migrate up") || strings.Contains(string(out), "permission denied") {
		t.Errorf("the node said %s (%v)", out, err)
	}
}
