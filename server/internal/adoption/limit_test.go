package adoption_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// cast adopts a table whose key is of an enum with a cast to text. The cast runs body, in PL/pgSQL,
// in the sessions of nodes only.
func cast(t *testing.T, body string) *world {
	t.Helper()
	w := newWorld(t)
	w.exec(`create type shop.level as enum ('low', 'high'); create sequence shop.called;
		create function shop.level_text(shop.level) returns text language plpgsql as $f$ begin
			if starts_with(session_user, 'recoup_adopter_') then perform nextval('shop.called'); ` + body + ` end if;
			return format('%s', $1); end $f$;
		create cast (shop.level as text) with function shop.level_text(shop.level) as assignment;
		create table shop.named (id shop.level primary key, order_id text, kind text); insert into shop.named values ('low', 'o1', 'TIMEOUT')`)
	plan, err := define.MakePlan(w.Context(), w.owner, define.Request{Source: "shop.named", As: "outreach.dol_errors", Mapping: wire.Mapping{Entity: "order_id", Code: "kind"}})
	w.Must(err)
	w.Must(w.runner().Apply(w.Context(), plan))
	return w
}

// TestHugeKeysAreNotStored has a cast of the owner return a megabyte for a key. The backfill
// refuses it, where it begins and on its way, and so does the table of adoptions.
func TestHugeKeysAreNotStored(t *testing.T) {
	t.Parallel()
	w := cast(t, "return repeat('x', 1000000);")
	if err := w.service.Settle(t.Context()); err == nil || !strings.Contains(err.Error(), "has 1000000 bytes") {
		t.Errorf("the last key: %s", brief(err))
	}
	w.exec("update recoup.adoption set scan_end = 'high'")
	w.exec("create or replace function shop.level_text(shop.level) returns text language plpgsql as $f$ begin return repeat('x', 33000); end $f$")
	if err := w.service.Settle(t.Context()); err == nil || !strings.Contains(err.Error(), "has 33000 bytes") {
		t.Errorf("a key of the scan: %s", brief(err))
	}
	w.want("select scan_end, scanned_to from recoup.adoption", "high -")
	for _, column := range []string{"scan_end", "scanned_to"} {
		if _, err := w.owner.Exec(t.Context(), "update recoup.adoption set "+column+" = repeat('x', 1000000)"); err == nil {
			t.Errorf("%s has no limit", column)
		}
	}
}

// brief is the beginning of an error.
func brief(err error) string {
	text := fmt.Sprint(err)
	return text[:min(len(text), 300)]
}

// replaced makes a world whose table has rows and whose read function its owner has replaced:
// it runs body before the rows of the keys, whose messages are an expression.
func replaced(t *testing.T, rows int, body, message string) *world {
	t.Helper()
	w := newWorld(t)
	w.adopt(mapping)
	w.exec(`create or replace function recoup.adopted_1_read(keys text[]) returns setof recoup.source_row language plpgsql as $f$ begin ` + body + `
		return query select k, 'o', 'TIMEOUT', null::text, ` + message + `, null::timestamptz, true, null::jsonb, false, null::text, null::text, null::text from unnest($1) k; end $f$`)
	w.exec(fmt.Sprintf("insert into shop.failures (order_id, kind) select 'o', 'TIMEOUT' from generate_series(1, %d)", rows))
	return w
}

// TestSourcesReturnLittle has an owner's function return more than a batch of rows can have: in
// one row, and in many.
func TestSourcesReturnLittle(t *testing.T) {
	t.Parallel()
	for name, rows := range map[string]int{"one row": 1, "a batch": 100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			size := map[string]int{"one row": 5 << 20, "a batch": 1 << 20}[name]
			w := replaced(t, rows, "", fmt.Sprintf("repeat('x', %d)", size))
			if err := w.service.Settle(t.Context()); err == nil || len(err.Error()) > 2000 {
				t.Errorf("settled: %s", brief(err))
			}
			w.want("select count(*) from recoup.adopted_row", "0")
		})
	}
}

// TestMessagesOfTheServerAreCut has an owner's function raise errors with long messages: of a
// row, and of the table. Neither the log nor an error holds more than their beginning.
func TestMessagesOfTheServerAreCut(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]string{"of a row": "P0001", "of the table": "55000"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := replaced(t, 2, "raise exception using errcode = '"+state+"', message = repeat('ä', 500000), detail = repeat('d', 500000), hint = repeat('h', 500000);", "''")
			w.Must(w.service.Run(t.Context()))
			w.Must(w.service.Close(t.Context()))
			if log := w.log.String(); len(log) < 500 || len(log) > 6000 || strings.Contains(log, "ddd") || strings.Contains(log, "hhh") {
				t.Errorf("the log has %d bytes: %s", len(log), log[:min(len(log), 1000)])
			}
			w.want("select count(*) from recoup.error where octet_length(message) > 2000", "0")
		})
	}
}

// TestBackendsThatIgnoreCancellation has a cast of the owner go on when it is cancelled. The node
// ends its backend when the time is over.
func TestBackendsThatIgnoreCancellation(t *testing.T) {
	t.Parallel()
	w := cast(t, `for i in 1..100 loop begin perform pg_sleep(3); exception when query_canceled then null; end; end loop;`)
	ctx, cancel := context.WithCancel(t.Context())
	called := make(chan error, 1)
	go func() { called <- w.service.Settle(ctx) }()
	w.await("select is_called from shop.called", "true")
	cancel()
	if err := <-called; err == nil {
		t.Error("the call has ended by itself")
	}
	w.await("select count(*) from pg_stat_activity where datname = current_database() and starts_with(usename, 'recoup_adopter_')", "0")
}
