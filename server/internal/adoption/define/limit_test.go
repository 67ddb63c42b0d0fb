package define_test

import (
	"context"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestRoleIsLimited repairs a login role whose number of connections has no limit any more.
func TestRoleIsLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "create table shop.failures (id int primary key, order_id text)")
	limit := func(when string) {
		t.Helper()
		if got := one(t, w, "select rolconnlimit::text from pg_roles join recoup.adoption_login on role = rolname"); got != "5" {
			t.Errorf("%s: the role may have %s connections", when, got)
		}
	}
	w.adopt("shop.failures", wire.Mapping{})
	limit("adopted")
	role := one(t, w, "select role from recoup.adoption_login")
	w.exec("alter role " + role + " connection limit -1")
	w.adopt("shop.failures", wire.Mapping{})
	limit("adopted again")
	w.exec("alter role " + role + " nologin connection limit -1")
	w.adopt("shop.failures", wire.Mapping{})
	limit("repaired")
	if _, err := w.node().Exec(t.Context(), "alter role current_user connection limit 100"); err == nil {
		t.Error("the role can lift its limit")
	}
}

// TestPlanEndsItsBackend has a cast of the owner go on when it is cancelled: the backend is ended.
func TestPlanEndsItsBackend(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `create type shop.level as enum ('fatal'); create sequence shop.called;
		create function shop.level_text(shop.level) returns text language plpgsql as $f$ begin
			perform nextval('shop.called');
			for i in 1..100 loop begin perform pg_sleep(3); exception when query_canceled then null; end; end loop; return 'x'; end $f$;
		create cast (shop.level as text) with function shop.level_text(shop.level) as assignment;
		create table shop.failures (id int primary key, order_id text, code shop.level); insert into shop.failures values (1, 'a', 'fatal')`)
	ctx, cancel := context.WithCancel(t.Context())
	planned := make(chan error, 1)
	go func() {
		_, err := define.MakePlan(ctx, connect(t, w.url), define.Request{Source: "shop.failures", As: "shop.errors"})
		planned <- err
	}()
	await := func(sql, answer string) {
		t.Helper()
		got := ""
		for range 200 {
			if got = ask(t, w.owner, sql); got == answer {
				return
			}
			if err := retry.Sleep(t.Context(), 50*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
		t.Fatalf("%s: %s, and never %s", sql, got, answer)
	}
	await("select is_called from shop.called", `{"is_called":true}`)
	cancel()
	if err := <-planned; err == nil {
		t.Error("the plan has ended by itself")
	}
	await("select count(*) from pg_stat_activity where datname = current_database() and query ~ '^select pg_temp.recoup_look'", `{"count":0}`)
}
