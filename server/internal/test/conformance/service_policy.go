package conformance

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func policyClauses() []serviceClause {
	return []serviceClause{
		{"policies are numbered as they come, and the last one counts", policyAdded},
		{"the text that counts is not added again", policySame},
		{"a version names one text for good", policyVersionTaken},
		{"of ten nodes with one policy one adds it; ten with ten add all", policyRace},
		{"policies are listed newest first without their texts, page by page", policyList},
	}
}

func (d *serviceDriver) addPolicy(version, text string) (wire.PolicyVersion, bool) {
	d.Helper()
	v, added, err := d.store.AddPolicy(d.Context(), wire.PolicyVersion{Version: version, Text: text}, d.act("ada"))
	d.must(err)
	return v, added
}

func policyAdded(d *serviceDriver) {
	_, err := d.store.CurrentPolicy(d.Context())
	d.wantErr(err, sqldb.ErrNotFound)
	var all []wire.PolicyVersion
	for i := range 3 {
		text := fmt.Sprintf("version: 1.%d\nüber: all\n", i)
		v, added := d.addPolicy(fmt.Sprint("1.", i), text)
		wantSame(d, v, wire.PolicyVersion{Number: int64(i + 1), Version: fmt.Sprint("1.", i), Hash: sha256.Sum256([]byte(text)),
			Text: text, At: d.now, By: "ada", Reason: "because"})
		current, err := d.store.CurrentPolicy(d.Context())
		if d.must(err); !added {
			d.Error("it was not added")
		}
		wantSame(d, current, v)
		all = append(all, v)
		d.wait(time.Minute)
	}
	for _, v := range all {
		got, err := d.store.PolicyVersion(d.Context(), v.Version)
		d.must(err)
		wantSame(d, got, v)
	}
	_, err = d.store.PolicyVersion(d.Context(), "2")
	d.wantErr(err, sqldb.ErrNotFound)
	d.wantActs("ada policy.add 1.0", "ada policy.add 1.1", "ada policy.add 1.2")
	_, _, err = d.store.AddPolicy(d.Context(), wire.PolicyVersion{Text: "no version"}, d.act("ada"))
	d.wantErr(err, store.ErrRefused)
}

func policySame(d *serviceDriver) {
	first, _ := d.addPolicy("1", "a")
	d.wait(time.Minute)
	for _, version := range []string{"1", "2"} { // what a file calls itself does not make it another
		again, added := d.addPolicy(version, "a")
		if wantSame(d, again, first); added {
			d.Error("it was added again")
		}
	}
	d.wantActs("ada policy.add 1")
	if _, added := d.addPolicy("2", "b"); !added {
		d.Error("another text was not added")
	}
	if v, added := d.addPolicy("3", "a"); !added || v.Number != 3 {
		d.Error("one cannot go back to an older text under a new version")
	}
}

func policyVersionTaken(d *serviceDriver) {
	d.addPolicy("1", "a")
	d.addPolicy("2", "b")
	for _, v := range []wire.PolicyVersion{{Version: "2", Text: "c"}, {Version: "1", Text: "c"}, {Version: "1", Text: "a"}} {
		_, added, err := d.store.AddPolicy(d.Context(), v, d.act("ada"))
		if d.wantErr(err, store.ErrConflict); added {
			d.Error("it was added all the same")
		}
	}
	d.wantActs("ada policy.add 1", "ada policy.add 2")
}

func policyRace(d *serviceDriver) {
	var same, other atomic.Int64
	d.together(10, func(int) error {
		_, added, err := d.store.AddPolicy(d.Context(), wire.PolicyVersion{Version: "1", Text: "a"}, d.act("ada"))
		if added {
			same.Add(1)
		}
		return err
	})
	d.together(10, func(i int) error {
		_, added, err := d.store.AddPolicy(d.Context(), wire.PolicyVersion{Version: fmt.Sprint("v", i), Text: fmt.Sprint(i)}, d.act("ada"))
		if added {
			other.Add(1)
		}
		return err
	})
	list, _, err := d.store.PolicyVersions(d.Context(), 0, 100)
	if d.must(err); same.Load() != 1 || other.Load() != 10 || len(list) != 11 || list[0].Number != 11 {
		d.Errorf("%d and %d were added, there are %d", same.Load(), other.Load(), len(list))
	}
	if n := len(d.acts()); n != 11 {
		d.Errorf("the audit tells of %d", n)
	}
}

func policyList(d *serviceDriver) {
	var want []wire.PolicyVersion
	for i := range 7 {
		v, _ := d.addPolicy(fmt.Sprint(i), fmt.Sprint("text ", i))
		v.Text = ""
		want = append([]wire.PolicyVersion{v}, want...)
	}
	for _, size := range []int{1, 3, 7, 100} {
		got := walked(d, func(before int64) ([]wire.PolicyVersion, int64, error) {
			return d.store.PolicyVersions(d.Context(), before, size)
		}, func(next int64) bool { return next == 0 })
		wantSame(d, got, want)
	}
}

func platformKeyClauses() []serviceClause {
	return []serviceClause{
		{"platform keys are kept by purpose, newest first", platformKeyKept},
		{"platform keys are wrapped by one key only, and no bare one comes beside it", platformKeyOneWrap},
		{"of ten nodes that wrap platform keys by one of their own each, one does", platformKeyWrapRace},
		{"of ten nodes at once one adds the first platform key of a purpose, and all get it", platformKeyFirst},
		{"a deleted platform key is gone, and its id is never used again", platformKeyDeleted},
	}
}

func (d *serviceDriver) addPlatformKey(id, purpose string) store.PlatformKey {
	d.Helper()
	k := store.PlatformKey{ID: id, Purpose: purpose, Secret: []byte("\x00sealed " + id)}
	d.must(d.store.AddPlatformKey(d.Context(), k, d.act("ada")))
	k.CreatedAt = d.now
	return k
}

func (d *serviceDriver) wantPlatformKeys(purpose string, want ...store.PlatformKey) {
	d.Helper()
	got, err := d.store.PlatformKeys(d.Context(), purpose)
	d.must(err)
	wantSame(d, got, want)
}

func platformKeyKept(d *serviceDriver) {
	d.wantPlatformKeys("tenant")
	a := d.addPlatformKey("a", "tenant")
	d.wait(time.Minute)
	b, c := d.addPlatformKey("b", "tenant"), d.addPlatformKey("c", "payload")
	d.wantPlatformKeys("tenant", b, a)
	d.wantPlatformKeys("payload", c)
	d.wantErr(d.store.AddPlatformKey(d.Context(), store.PlatformKey{ID: "a", Purpose: "payload", Secret: []byte("x")}, d.act("ada")), store.ErrConflict)
	d.wantErr(d.store.AddPlatformKey(d.Context(), store.PlatformKey{ID: "d", Purpose: "payload"}, d.act("ada")), store.ErrRefused)

	wrapped := a
	wrapped.Secret, wrapped.WrappedBy = []byte("\x00wrapped a"), "m1"
	d.must(d.store.WrapPlatformKey(d.Context(), wrapped, d.act("ada")))
	d.wantPlatformKeys("tenant", b, wrapped)
	d.wantErr(d.store.WrapPlatformKey(d.Context(), wrapped, d.act("ada")), store.ErrRefused) // by the same key
	wrapped.WrappedBy = ""
	d.wantErr(d.store.WrapPlatformKey(d.Context(), wrapped, d.act("ada")), store.ErrRefused) // bare again
	d.wantErr(d.store.WrapPlatformKey(d.Context(), store.PlatformKey{ID: "x", Secret: []byte("x"), WrappedBy: "m1"}, d.act("ada")), sqldb.ErrNotFound)
	for _, e := range d.wantActs("ada platform_key.add a", "ada platform_key.add b", "ada platform_key.add c", "ada platform_key.wrap a") {
		wraps := e.Act == store.ActPlatformKeyWrap && e.Details == `{"purpose":"tenant","wrapped_by":"m1"}`
		if e.Details != `{"purpose":"tenant"}` && e.Target != "c" && !wraps {
			d.Errorf("the audit tells %s", e.Details)
		}
	}
}

// wrapsOf are the keys that live platform keys are wrapped by.
func (d *serviceDriver) wrapsOf() map[string]int {
	d.Helper()
	by := map[string]int{}
	for _, purpose := range []string{"tenant", "payload"} {
		keys, err := d.store.PlatformKeys(d.Context(), purpose)
		d.must(err)
		for _, k := range keys {
			by[k.WrappedBy]++
		}
	}
	return by
}

func platformKeyOneWrap(d *serviceDriver) {
	a, b := d.addPlatformKey("a", "tenant"), d.addPlatformKey("b", "payload")
	key := func(id, by string) store.PlatformKey {
		return store.PlatformKey{ID: id, Purpose: "payload", Secret: []byte("x"), WrappedBy: by}
	}
	d.must(d.store.AddPlatformKey(d.Context(), key("m1", "m1"), d.act("ada"))) // beside bare ones it may lie
	for _, by := range []string{"m2", ""} {
		d.wantErr(d.store.AddPlatformKey(d.Context(), key("c", by), d.act("ada")), store.ErrOtherWrap)
		first := key("c", by)
		first.Purpose = "another"
		_, _, err := d.store.AddFirstPlatformKey(d.Context(), first, d.act("ada"))
		d.wantErr(err, store.ErrOtherWrap)
	}
	a.WrappedBy, b.WrappedBy = "m2", "m1"
	d.wantErr(d.store.WrapPlatformKey(d.Context(), a, d.act("ada")), store.ErrOtherWrap)
	d.must(d.store.WrapPlatformKey(d.Context(), b, d.act("ada")))
	d.wantErr(d.store.WrapPlatformKey(d.Context(), b, d.act("ada")), store.ErrRefused)
	d.must(d.store.AddPlatformKey(d.Context(), key("m1 again", "m1"), d.act("ada")))
	wantSame(d, d.wrapsOf(), map[string]int{"": 1, "m1": 3})
	d.wantActs("ada platform_key.add a", "ada platform_key.add b", "ada platform_key.add m1", "ada platform_key.wrap b", "ada platform_key.add m1 again")
	for _, id := range []string{"m1", "b", "m1 again"} { // what is deleted stands in nobody's way
		d.must(d.store.DeletePlatformKey(d.Context(), id, d.act("ada")))
	}
	d.must(d.store.WrapPlatformKey(d.Context(), a, d.act("ada")))
}

func platformKeyWrapRace(d *serviceDriver) {
	for i := range 10 {
		d.addPlatformKey(fmt.Sprint("k", i), []string{"tenant", "payload"}[i%2])
	}
	d.together(10, func(i int) error {
		by := fmt.Sprint("m", i)
		for n := range 10 {
			k := store.PlatformKey{ID: fmt.Sprint("k", (n+i)%10), Secret: []byte(by), WrappedBy: by}
			if err := d.store.WrapPlatformKey(d.Context(), k, d.act("ada")); err != nil && !errors.Is(err, store.ErrRefused) {
				return err
			}
			added := store.PlatformKey{ID: fmt.Sprint("new ", i, n), Purpose: "payload", Secret: []byte(by), WrappedBy: by}
			if err := d.store.AddPlatformKey(d.Context(), added, d.act("ada")); err != nil && !errors.Is(err, store.ErrOtherWrap) {
				return err
			}
		}
		return nil
	})
	if by := d.wrapsOf(); len(by) != 1 || by[""] != 0 {
		d.Errorf("the keys are wrapped by %v", by)
	}
}

func platformKeyFirst(d *serviceDriver) {
	got := make([]store.PlatformKey, 10)
	var added atomic.Int64
	d.together(10, func(i int) (err error) {
		mine := store.PlatformKey{ID: fmt.Sprint("k", i), Purpose: "tenant", Secret: []byte{byte(i), 1}}
		var mineIs bool
		if got[i], mineIs, err = d.store.AddFirstPlatformKey(d.Context(), mine, d.act("ada")); mineIs {
			added.Add(1)
		}
		return err
	})
	for _, k := range got {
		wantSame(d, k, got[0])
	}
	if d.wantPlatformKeys("tenant", got[0]); added.Load() != 1 {
		d.Errorf("%d were the first", added.Load())
	}
	d.wantActs("ada platform_key.add " + got[0].ID)
	_, first, err := d.store.AddFirstPlatformKey(d.Context(), store.PlatformKey{ID: "p", Purpose: "payload", Secret: []byte("x")}, d.act("ada"))
	if d.must(err); !first {
		d.Error("another purpose was thought to have a key")
	}
}

func platformKeyDeleted(d *serviceDriver) {
	a := d.addPlatformKey("a", "tenant")
	b := d.addPlatformKey("b", "tenant")
	d.must(d.store.DeletePlatformKey(d.Context(), "b", d.act("bob")))
	d.wantPlatformKeys("tenant", a)
	for _, id := range []string{"b", "none"} {
		d.wantErr(d.store.DeletePlatformKey(d.Context(), id, d.act("bob")), sqldb.ErrNotFound)
	}
	if err := d.store.AddPlatformKey(d.Context(), b, d.act("bob")); !errors.Is(err, store.ErrConflict) {
		d.Errorf("the id of a deleted key is answered with %v", err)
	}
	d.wantActs("ada platform_key.add a", "ada platform_key.add b", "bob platform_key.delete b")
	d.must(d.store.DeletePlatformKey(d.Context(), "a", d.act("bob")))
	d.wantPlatformKeys("tenant")
	_, first, err := d.store.AddFirstPlatformKey(d.Context(), store.PlatformKey{ID: "c", Purpose: "tenant", Secret: []byte("x")}, d.act("bob"))
	if d.must(err); !first {
		d.Error("a deleted key was thought to be one")
	}
}
