package adoption_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/node"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// longLife is an adoption as a long life leaves it: every row of the source has a pair, a
// third of them with an open error that is due or parked, the others with one in the archive;
// changes, errors that moved and rows that cannot be read wait, as if nobody had looked for
// long. The guards are put aside: they are not the question here.
const longLife = `
alter table recoup.error disable trigger user;
alter table recoup.error_archive disable trigger user;
insert into recoup.error (error_id, table_name, entity_id, code, category, class, policy_version, state, disposition, blocking, created_at, expires_at, max_retries, next_retry_at, parked_at, park_reason, escalated_to)
select md5('e' || n)::uuid, 'outreach.dol_errors', 'o' || n, 'TIMEOUT', 'TRANSIENT', 'immediate', '1.0.0', case when due then 'RETRY_PENDING' else 'PARKED' end, case when due then 'RETRY' else 'PARKED' end, true,
	$1::timestamptz, $1::timestamptz + interval '60 days', 5, case when due then $1::timestamptz end, case when not due then $1::timestamptz end, case when not due then 'DATA_QUALITY' end, case when not due then 'team' end
from (select n, n % 30 > 0 as due from generate_series(1, $2) n where n % 3 = 0) x;
insert into recoup.due (error_id, table_name, policy_version, due_at) select error_id, table_name, policy_version, next_retry_at from recoup.error where state = 'RETRY_PENDING';
insert into recoup.error_archive (error_id, table_name, entity_id, code, state, disposition, archived_at, archived_by, archive_reason, final_disposition, purge_at, was_state, was_blocking, end_seq, end_input, end_policy)
select md5('e' || n)::uuid, 'outreach.dol_errors', 'o' || n, 'TIMEOUT', 'ARCHIVED', 'RETRY', $1::timestamptz, 'system', 'TTL_EXPIRED', 'RETRY', $1::timestamptz + interval '1 year', 'RETRY_PENDING', false, n, 'expire', '1.0.0'
from generate_series(1, $2) n where n % 3 > 0;
insert into recoup.adopted_row select 1, n::text, md5('e' || n)::uuid, '\x00', case when n % 30 = 0 then md5('l' || n)::uuid end from generate_series(1, $2) n;
insert into recoup.adopted_change (adoption_id, numbers) select 1, array[n] from generate_series(1, $2) n;
insert into recoup.adopted_entity select 1, change_id, hashtextextended('o' || n, 0) from recoup.adopted_change, unnest(numbers) n;
insert into recoup.adopted_mirror (adoption_id, error_id) select 1, md5('e' || n)::uuid from generate_series(1, $2) n;
insert into recoup.adopted_unreadable select 1, n::text, 'no number' from generate_series(1, $2, 3) n;
insert into recoup.source_detail (error_id, table_name, details) select md5('e' || n)::uuid, 'outreach.dol_errors', '{}' from generate_series(1, $2) n;
update recoup.adoption set state = 'GOVERNED';
alter table recoup.error enable trigger user;
alter table recoup.error_archive enable trigger user;
analyze shop.failures`

// explains has the server explain every statement of whoever asks for it, and those that
// functions and triggers run.
var explains = []string{
	"shared_preload_libraries=auto_explain", "auto_explain.log_analyze=on", "auto_explain.log_timing=off", "auto_explain.log_nested_statements=on", "auto_explain.log_format=json", "autovacuum=off",
}

// TestPlans asks for all that nodes ask of an adoption of 60,000 rows (RECOUP_SOAK=1: a
// million), and looks at the plans that were used: none reads a table that grows from end to
// end, or many rows that it does not want.
func TestPlans(t *testing.T) {
	t.Parallel()
	rows := 60_000
	if os.Getenv("RECOUP_SOAK") != "" {
		rows = 1_000_000
	}
	server := pgtest.Start(t, pgtest.Options{Settings: explains})
	db, url := node.PostgresAt(t, server)
	w := newWorldOn(t, db, url)
	w.exec(fmt.Sprintf("insert into shop.failures (order_id, kind, at) select 'o' || n, 'TIMEOUT', '2026-02-02 09:00' from generate_series(1, %d) n", rows))
	w.follow("9.0.0", "{details: [note], at_end: delete}")
	w.adopt(mapping)
	for _, sql := range strings.Split(longLife, ";\n") {
		w.exec(strings.NewReplacer("$1", "'"+w.Now().Format(time.RFC3339)+"'", "$2", fmt.Sprint(rows)).Replace(sql))
	}
	server.Admin(t, "alter role recoup_app set auto_explain.log_min_duration = 0; alter role "+w.ask("select role from recoup.adoption_login")+" set auto_explain.log_min_duration = 0")
	for _, counted := range []bool{false, true} { // the server knows nothing of what has come to our tables, or all
		if counted {
			w.exec("analyze")
		}
		s := watched{store: pgtest.OpenURL(t, url)}
		s.DB = extended(t, s.store)
		s.store.UseClock(w.Now)
		turn, _, err := s.TakeTurn(t.Context(), 1, "a", time.Hour)
		w.Must(err)
		for _, p := range probes(rows, turn) {
			if !counted && rows < 1_000_000 && (p.name == "figures" || p.name == "due rows") {
				continue // they look at 10,000 and 5,000, which is all that the server believes there are
			}
			t.Run(fmt.Sprintf("%s/counted=%v", p.name, counted), func(t *testing.T) {
				before := len(server.Log(t))
				if err := p.do(t, s); err != nil {
					t.Fatal(err)
				}
				look(t, server.Log(t)[before:])
			})
		}
	}
}

// look looks at the plans in a log.
func look(t *testing.T, log string) {
	t.Helper()
	plans := explained(t, log)
	if len(plans) == 0 {
		t.Error("nothing was explained")
	}
	for _, plan := range plans {
		for _, problem := range plan.Plan.problems() {
			t.Errorf("%s in %.200s\n%s", problem, plan.Query, plan.Plan.outline(""))
		}
	}
}

// watched is a store whose statements are explained.
type watched struct {
	*adoption.DB
	store *postgres.Store
}

// probe is something that a node asks for.
type probe struct {
	name string
	do   func(*testing.T, watched) error
}

func probes(rows int, turn adoption.Lease) []probe {
	middle, end, keys := fmt.Sprint(rows/2), fmt.Sprint(rows), []string(nil)
	for n := range 500 {
		keys = append(keys, fmt.Sprint(rows/2+n))
	}
	return []probe{
		{"adoptions", func(t *testing.T, s watched) error { _, err := s.Adoptions(t.Context()); return err }},
		{"figures", func(t *testing.T, s watched) error { _, err := s.AdoptionFigures(t.Context()); return err }},
		{"scan", func(t *testing.T, s watched) error {
			_, err := s.ScanSource(t.Context(), 1, nil, end, 500)
			return err
		}},
		{"scan on", func(t *testing.T, s watched) error {
			_, err := s.ScanSource(t.Context(), 1, &middle, end, 500)
			return err
		}},
		{"source rows", func(t *testing.T, s watched) error {
			_, err := s.SourceRows(t.Context(), 1, keys, wire.SourceRules{})
			return err
		}},
		{"pairs", func(t *testing.T, s watched) error { _, err := s.Pairs(t.Context(), 1, keys); return err }},
		{"first pairs", func(t *testing.T, s watched) error {
			_, err := s.PairsAfter(t.Context(), 1, nil, 500)
			return err
		}},
		{"pairs after", func(t *testing.T, s watched) error {
			_, err := s.PairsAfter(t.Context(), 1, &middle, 500)
			return err
		}},
		{"pairs under way", func(t *testing.T, s watched) error {
			_, err := s.PairsUnderway(t.Context(), 1, middle, 500)
			return err
		}},
		{"due rows", func(t *testing.T, s watched) error {
			_, err := s.DueRows(t.Context(), 1, "outreach.dol_errors", "source", 100)
			return err
		}},
		{"save pairs", func(t *testing.T, s watched) error {
			return s.SavePairs(t.Context(), turn, []adoption.Row{{Key: middle, Digest: []byte{1}}}, keys[:1])
		}},
		{"unreadable", func(t *testing.T, s watched) error {
			return s.SaveUnreadable(t.Context(), turn, keys, []adoption.Unreadable{{Key: middle, Cause: "no number"}})
		}},
		{"changes", func(t *testing.T, s watched) error { _, _, err := s.Changes(t.Context(), 1, 500); return err }},
		{"index changes", func(t *testing.T, s watched) error {
			_, err := s.IndexChanges(t.Context(), 1, 500)
			return err
		}},
		{"pass changes", func(t *testing.T, s watched) error { return s.PassChanges(t.Context()) }},
		{"forget changes", func(t *testing.T, s watched) error {
			return s.ForgetChanges(t.Context(), turn, []int64{1, 2, 3})
		}},
		{"mirror", func(t *testing.T, s watched) error {
			_, err := s.Mirror(t.Context(), turn, 1000, 500)
			return err
		}},
		{"gate", func(t *testing.T, s watched) error {
			_, err := s.store.Blocking(t.Context(), []string{"o77", "nobody"}, 100)
			return err
		}},
		{"ended rows", func(t *testing.T, s watched) error {
			_, _, err := s.EndedRows(t.Context(), 1, middle, 500)
			return err
		}},
		{"remove rows", func(t *testing.T, s watched) error {
			_, err := s.RemoveRows(t.Context(), turn, keys[:100], func(list []adoption.RemovedRow) ([]adoption.RemovedRow, []adoption.MovedRow, error) {
				return list, nil, nil
			})
			return err
		}},
		{"source detail", func(t *testing.T, s watched) error {
			_, err := s.SourceDetail(t.Context(), recoup.ID{1})
			if errors.Is(err, sqldb.ErrNotFound) {
				err = nil
			}
			return err
		}},
	}
}

// plan is a node of a plan, as the server logs it.
type plan struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Filtered float64 `json:"Rows Removed by Filter"`
	Plans    []plan  `json:"Plans"`
}

type explanation struct {
	Query string `json:"Query Text"`
	Plan  plan
}

// explained reads the plans in a log.
func explained(t *testing.T, log string) (list []explanation) {
	t.Helper()
	for _, text := range strings.Split(log, " plan:\n")[1:] {
		var e explanation
		if err := json.NewDecoder(strings.NewReader(text)).Decode(&e); err != nil {
			t.Fatalf("%v: %.500s", err, text)
		}
		list = append(list, e)
	}
	return list
}

// mostRead is how many rows of a table a statement may read: those of some batches, and
// more than any batch of changes has keys.
const mostRead = 11_000

func (p *plan) problems() (list []string) {
	grows := slices.Contains([]string{
		"failures", "error", "error_archive", "due", "adopted_row", "adopted_change", "adopted_entity", "adopted_mirror", "adopted_unreadable", "source_detail",
	}, p.Relation)
	switch {
	case grows && p.Type == "Seq Scan":
		list = append(list, "reads all of "+p.Relation)
	case grows && p.Loops*(p.Rows+p.Filtered) > mostRead:
		list = append(list, fmt.Sprintf("reads %.0f rows of %s", p.Loops*(p.Rows+p.Filtered), p.Relation))
	}
	for i := range p.Plans {
		if p.Type == "Sort" && p.Plans[i].Rows > mostRead {
			list = append(list, fmt.Sprintf("sorts %.0f rows", p.Plans[i].Rows))
		}
		list = append(list, p.Plans[i].problems()...)
	}
	return list
}

func (p *plan) outline(indent string) string {
	s := fmt.Sprintf("%s%s %s %s: %.0f rows, %.0f filtered, %.0f times\n", indent, p.Type, p.Relation, p.Index, p.Rows, p.Filtered, p.Loops)
	for i := range p.Plans {
		s += p.Plans[i].outline(indent + "  ")
	}
	return s
}
