package define_test

import (
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/adoption/preset/presettest"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestPresets adopts the tables of queues, which are told by their columns alone: only jobs
// that have failed for good are governed, and noted when they do. One is set off again
// once, and in the end nothing is left.
func TestPresets(t *testing.T) {
	for _, q := range presettest.Queues {
		t.Run(q.Preset, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, q.DDL)
			before := w.dump()
			request := define.Request{Source: q.Table, As: "shop.errors", Preset: q.Preset, Mapping: wire.Mapping{Entity: q.Entity}, NoMirror: true}
			plan, err := define.MakePlan(t.Context(), w.owner, request)
			if err != nil || len(plan.Refusals) > 0 || plan.Rows.Rows != 2 || plan.Rows.Governed != 1 || plan.Rows.NoEntity != 0 {
				t.Fatalf("%v %+v", err, plan)
			}
			if strings.Contains(strings.Join(plan.Filled, " "), "entity") || !strings.Contains(strings.Join(plan.Filled, " "), "code") {
				t.Errorf("the preset has filled in %v", plan.Filled)
			}
			if err := w.runner().Apply(t.Context(), plan); err != nil {
				t.Fatal(err)
			}
			want := func(sql, rows string) {
				t.Helper()
				conn := w.app
				if calls.MatchString(sql) {
					conn = w.node()
				}
				if got := ask(t, conn, sql); got != rows {
					t.Errorf("%s:\n%s\nwant:\n%s", sql, got, rows)
				}
			}
			const changes = "select cardinality(" + notedKeys + ") as n, entities from recoup.adopted_change order by change_id"
			want("select entity_id, code, message, governed, underway from recoup.adopted_1_read(array(select recoup.adopted_1_scan(null, recoup.adopted_1_last(), 10))) order by key",
				`{"entity_id":"o1","code":"INTERNAL_ERROR","message":null,"governed":false,"underway":true}`+"\n"+
					`{"entity_id":"o2","code":"INTERNAL_ERROR","message":"no answer","governed":true,"underway":false}`)
			w.as(q.Start) // nothing: it is not set off
			want(changes, "")
			key := strings.ReplaceAll(q.Key, `"`, `\"`)
			retry := `select cardinality(recoup.adopted_1_retry(array['` + q.Key + `'])) as n`
			want(retry, `{"n":1}`)
			want(retry, `{"n":0}`)
			want(changes, `{"n":1,"entities":null}`)
			w.as(q.Start)
			want(retry, `{"n":0}`)
			want("select governed, underway from recoup.adopted_1_read(array['"+q.Key+"'])", `{"governed":false,"underway":true}`)
			want(changes, `{"n":1,"entities":null}`) // that it runs is nothing to note
			w.as(q.Fail)
			want("select governed, underway from recoup.adopted_1_read(array['"+q.Key+"'])", `{"governed":true,"underway":false}`)
			want("select distinct on (keys) keys[1] as keys, entities from (select "+notedKeys+" as keys, "+notedEntities+" as entities, change_id from recoup.adopted_change) c order by keys, change_id desc", `{"keys":"`+key+`","entities":["o2"]}`)
			want(retry, `{"n":1}`)
			w.as(q.Start)
			w.as(q.Done)
			want("select governed, underway from recoup.adopted_1_read(array['"+q.Key+"']) where governed or underway", "")

			if forgotten, err := w.runner().Release(t.Context(), q.Table); err != nil || !forgotten {
				t.Fatal(forgotten, err)
			}
			if after := w.dump(); after != before {
				t.Errorf("after the release:\n%s", difference(before, after))
			}
		})
	}
}

// TestPresetIsRefused says what is missing, and what would be right.
func TestPresetIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, presettest.Queues[0].DDL+";"+presettest.Queues[2].DDL)
	w.as("alter table shop.river_job drop errors, add errors jsonb")
	for _, c := range []struct{ table, preset, why, way string }{
		{"shop.river_job", "river", "lacks columns of a table of River: errors as jsonb[] (it is jsonb)", "usually river_job"},
		{"shop._private_jobs", "river", "lacks columns of a table of River: state, queue, kind", "use --preset graphile-worker"},
		{"shop.jobs", "graphile-worker", "is a view", "usually graphile_worker._private_jobs"},
		{"shop.river_job", "rivers", "there is none of that name", "graphile-worker, oban, pg-boss, river"},
	} {
		plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: c.table, As: "shop.errors", Preset: c.preset})
		if err != nil || len(plan.Refusals) != 1 || !strings.Contains(plan.Refusals[0].Why, c.why) || !strings.Contains(plan.Refusals[0].Way, c.way) {
			t.Errorf("%s as %s: %v %+v", c.table, c.preset, err, plan.Refusals)
		}
	}
	plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop._private_jobs", As: "shop.errors"})
	if err != nil || !strings.Contains(strings.Join(plan.Notes, "\n"), "use --preset graphile-worker") {
		t.Errorf("without a preset: %v %v", err, plan.Notes)
	}
	for _, entity := range []string{"payload", "payload->>'order'", "payload -> 'a' ->> 'it''s'", `"payload"->>'x'`} {
		if plan, err = define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop._private_jobs", As: "shop.errors", Preset: "graphile-worker", Mapping: wire.Mapping{Entity: entity}}); err != nil || len(plan.Refusals) > 0 {
			t.Errorf("--entity %s: %v %v", entity, err, plan.Refusals)
		}
	}
	for _, entity := range []string{"payload[last]->>'x'", "last_error->>'x'", "payload->>'x' || now()::text", "payload->>'x'; drop", `payload->>'\'`} {
		if plan, err = define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop._private_jobs", As: "shop.errors", Preset: "graphile-worker", Mapping: wire.Mapping{Entity: entity}}); err != nil || len(plan.Refusals) == 0 {
			t.Errorf("--entity %s is not refused: %v", entity, err)
		}
	}
}
