package endtoend

import (
	"strings"
	"syscall"
	"testing"

	"recoup"
	"recoup/client"
	"recoup/internal/store/postgres/pgtest"
)

// Behind PgBouncer in transaction mode a node says what it lacks, works once it has
// it, and works without a direct address once the schema is there.
func TestBehindAPooler(t *testing.T) {
	t.Parallel()
	direct := pgtest.New(t)
	s := newSite(t, database{Nodes: pgtest.Pool(t, "transaction")(direct)})
	if said := s.refuses(); !strings.Contains(said, "--database-direct (RECOUP_DATABASE_DIRECT)") {
		t.Errorf("before it was migrated the node said %s", said)
	}
	s.env = []string{"RECOUP_DATABASE_DIRECT=" + direct}
	for _, entity := range []string{"listening", "polling"} {
		s.start()
		c, err := client.New(client.Options{Server: "http://" + *s.address.Load(), Key: s.key()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Report(t.Context(), recoup.Report{Table: "outreach.dol_errors", EntityID: entity, Code: "NETWORK_TIMEOUT", Message: "no answer"}); err != nil {
			t.Error(err)
		}
		claimed, err := c.Claim(t.Context(), recoup.RetryClaim{Worker: "w", WaitSeconds: 30})
		if err != nil || len(claimed) != 1 || claimed[0].EntityID != entity {
			t.Errorf("%s, claimed %+v: %v", entity, claimed, err)
		}
		c.Close()
		if err := s.signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if polls := strings.Contains(s.log.String(), "database behind a pooler: polling"); polls != (entity == "polling") {
			t.Errorf("%s, the log says %s", entity, s.log)
		}
		s.env = nil
	}
}
