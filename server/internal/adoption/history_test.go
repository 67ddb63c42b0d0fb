package adoption_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// sourceRow is a row of the source as its owner has it, and known what a node knows of it.
type (
	sourceRow struct {
		entity, code, note string
		done               bool
	}
	known struct {
		looked sourceRow // when somebody looked last
		open   bool
	}
)

// model says which errors are open after any history: a look at a row, at any time, for
// any reason, any number of times.
type model struct {
	rows  map[int]sourceRow
	known map[int]known
}

func (m *model) look() {
	for id := range m.known {
		if _, there := m.rows[id]; !there {
			delete(m.known, id)
		}
	}
	for id, row := range m.rows {
		k, before := m.known[id]
		switch {
		case row.done && before:
			m.known[id] = known{looked: row}
		case row.done || before && k.looked == row:
		default: // new, changed, or a failure again
			m.known[id] = known{looked: row, open: true}
		}
	}
}

// open lists the entities and codes of open errors.
func (m *model) open() string {
	var list []string
	for _, k := range m.known {
		if k.open {
			list = append(list, k.looked.entity+" "+k.looked.code)
		}
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// Whatever its owner does to a source, whatever people do to its errors, and however often
// and in whatever order nodes look, in the end one error is open for each row that has
// failed since it was last resolved.
func TestAnyHistory(t *testing.T) {
	t.Parallel()
	histories := tier.Count(15, 100)
	if os.Getenv("RECOUP_SOAK") != "" {
		histories = 1000
	}
	w := newWorld(t)
	w.adopt(mapping)
	for seed := range uint64(histories) {
		w.exec("truncate shop.failures")
		w.settle()
		h := &history{world: w, random: rand.New(rand.NewPCG(seed, 0)), model: model{map[int]sourceRow{}, map[int]known{}}, next: 1000 * int(seed)}
		for range 60 {
			h.step()
		}
		h.settle()
		if got, want := w.ask("select entity_id, code from recoup.error where state <> 'RESOLVED' order by 1, 2"), h.model.open(); got != want {
			t.Fatalf("seed %d: open are\n%s\nand should be\n%s\nafter\n%s", seed, got, want, strings.Join(h.did, "\n"))
		}
	}
}

// history plays one, on the source and on the model.
type history struct {
	*world
	model  model
	random *rand.Rand
	next   int
	did    []string
}

func (h *history) settle() {
	h.world.settle()
	h.model.look()
}

// write changes the source by plain SQL.
func (h *history) write(sql string, args ...any) {
	sql = fmt.Sprintf(sql, args...)
	h.did = append(h.did, sql)
	h.exec(sql)
}

func (h *history) step() {
	ids := slices.Sorted(maps.Keys(h.model.rows))
	pick := 0
	if len(ids) > 0 {
		pick = ids[h.random.IntN(len(ids))]
	}
	row := h.model.rows[pick]
	switch n := h.random.IntN(20); {
	case n < 6 || pick == 0:
		h.next++
		row = sourceRow{entity: fmt.Sprintf("o%d", h.random.IntN(3)), code: []string{"TIMEOUT", "EIN_NOT_FOUND"}[h.random.IntN(2)]}
		h.write("insert into shop.failures (id, order_id, kind, note, at) values (%d, '%s', '%s', '', '2026-02-02 09:00')", h.next, row.entity, row.code)
		h.model.rows[h.next] = row
	case n < 11:
		switch h.random.IntN(4) {
		case 0:
			row.entity = fmt.Sprintf("o%d", h.random.IntN(3))
		case 1:
			row.code = []string{"TIMEOUT", "EIN_NOT_FOUND"}[h.random.IntN(2)]
		case 2:
			row.note += "!"
		case 3:
			row.done = !row.done
		}
		h.model.rows[pick] = row
		h.write("update shop.failures set order_id = '%s', kind = '%s', note = '%s', status = '%s' where id = %d", row.entity, row.code, row.note,
			map[bool]string{true: "done", false: "open"}[row.done], pick)
	case n < 13:
		delete(h.model.rows, pick)
		h.write("delete from shop.failures where id = %d", pick)
	case n < 14 && h.random.IntN(3) == 0:
		clear(h.model.rows)
		h.write("truncate shop.failures")
	case n < 15: // a change that is said again, or of what was never there
		h.write("insert into recoup.adopted_change (adoption_id, keys, entities) values (1, '{%d,%d,77}', null)", pick, h.next)
	case n < 17:
		h.resolve(pick)
	default:
		h.did = append(h.did, "look")
		h.settle()
	}
}

// resolve has a person resolve the error of a row, if it has one.
func (h *history) resolve(id int) {
	if k, ok := h.model.known[id]; ok && k.open {
		h.did = append(h.did, fmt.Sprint("resolve ", id))
		h.Act(engine.Act{ID: h.one(id).ID, Input: lifecycle.Resolve{Reason: "done by hand"}})
		k.open = false
		h.model.known[id] = k
	}
}

// Rows of which nothing can be made as they are do not stop the others: each has an error
// that says what was wrong, and nothing of them is kept that looks like a secret.
func TestBadRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const secret = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"
	w.exec(`insert into shop.failures (id, order_id, kind, note, level, at) values
		(1, repeat('x', 5000), 'TIMEOUT', '', null, '2026-02-02 09:00'), (2, '` + secret + `', 'TIMEOUT', '', null, '2026-02-02 09:00'),
		(3, 'o3', '` + secret + `', '', null, '2026-02-02 09:00'), (4, 'o4', '???', '', 'very bad', '2026-02-02 09:00'),
		(5, 'o5', 'TIMEOUT', '', null, '0001-01-01'), (6, 'o6', 'TIMEOUT', '', null, '9999-01-01'), (7, 'o7', 'TIMEOUT', '', null, 'infinity'),
		(8, 'o8', 'TIMEOUT', repeat('x', 500000) || ' token=` + secret + `', null, '2026-02-02 09:00'), (9, null, 'TIMEOUT', 'token=` + secret + `', null, null),
		(10, E'o\n10', 'TIMEOUT', E'\u0001', null, '2026-02-02 09:00'), (11, 'o11', repeat('LONG_', 40), '', null, '2026-02-02 09:00'), (13, 'o13', '42: not found!', '', null, '2026-02-02 09:00')`)
	w.adopt(mapping)
	w.exec("insert into shop.failures (id, order_id, kind, at) values (12, 'good', 'TIMEOUT', '2026-02-02 09:00')")
	w.settle()
	w.want("select count(*), count(distinct error_id) from recoup.adopted_row", "13 13")
	w.want("select entity_id, state from recoup.error where entity_id = 'good'", "good RETRY_PENDING")
	w.want("select entity_id, left(code, 20), length(code) from recoup.error where entity_id in ('o3', 'o4', 'o11', 'o13') order by 1", `
		o11 LONG_LONG_LONG_LONG_ 64
		o13 CODE_42_NOT_FOUND 17
		o3 UNREGISTERED_CODE 17
		o4 INTERNAL_ERROR 14`)
	for key := range 13 {
		if e := w.one(key + 1); e.State == recoup.Resolved || e.Table == "" {
			t.Errorf("row %d has %+v", key+1, e)
		}
	}
	w.want(`select count(*) from recoup.error e where to_jsonb(e)::text ilike '%4eC39Hq%'`, "0")
	w.want(`select count(*) from recoup.transition e where to_jsonb(e)::text ilike '%4eC39Hq%'`, "0")
	if strings.Contains(w.log.String(), "4eC39Hq") {
		t.Error("the log has a secret")
	}
}
