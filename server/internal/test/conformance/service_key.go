package conformance

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func keyClauses() []serviceClause {
	return []serviceClause{
		{"a key is kept as it was made, and found by its hash", keyKept},
		{"an id or a secret is used by one key only", keyTaken},
		{"of ten nodes at once one makes the first key", keyFirst},
		{"keys are listed newest first, page by page", keyList},
		{"a key is revoked once, and the first time stands", keyRevoked},
		{"a key that takes over ends the other, in one commit", keyRotated},
		{"the last use of a key never goes back", keyTouched},
	}
}

// key is a key that does not exist yet.
func (d *serviceDriver) key(name string) wire.Key {
	id := d.ids.New(d.now)
	k := wire.Key{ID: id, Name: name, Role: "worker", Hubs: []string{"DOL Filings", "Platform"}, Hint: "rdb_" + name, ExpiresAt: d.now.Add(90 * day)}
	copy(k.Hash[:], id[:])
	return k
}

// created makes a key.
func (d *serviceDriver) created(k wire.Key) wire.Key {
	d.Helper()
	made, err := d.store.CreateKey(d.Context(), k, d.act("ada"))
	d.must(err)
	return made
}

func (d *serviceDriver) keyOf(hash [32]byte) wire.Key {
	d.Helper()
	k, err := d.store.KeyByHash(d.Context(), hash, true)
	d.must(err)
	return k
}

func keyKept(d *serviceDriver) {
	k := d.key("a")
	k.LastUsedAt, k.RevokedAt, k.RevokedBy, k.RotatedTo, k.CreatedBy = d.now, d.now, "x", k.ID, "x" // none of it counts
	made := d.created(k)
	want := wire.Key{ID: k.ID, Name: "a", Role: "worker", Hubs: k.Hubs, Hint: "rdb_a", Hash: k.Hash,
		CreatedAt: d.now, CreatedBy: "ada", ExpiresAt: d.now.Add(90 * day)}
	wantSame(d, made, want)
	wantSame(d, d.keyOf(k.Hash), want)

	bare := wire.Key{ID: d.ids.New(d.now), Name: "bare", Role: "admin", Hash: [32]byte{7}}
	d.created(bare)
	bare.CreatedAt, bare.CreatedBy = d.now, "ada"
	wantSame(d, d.keyOf(bare.Hash), bare)
	_, err := d.store.KeyByHash(d.Context(), [32]byte{8}, false)
	d.wantErr(err, sqldb.ErrNotFound)
	d.wantActs("ada key.create "+k.ID.String(), "ada key.create "+bare.ID.String())

	for _, wrong := range []wire.Key{
		{ID: d.ids.New(d.now), Name: "", Role: "admin"}, {ID: d.ids.New(d.now), Name: "x", Role: "king"}, {Name: "x", Role: "admin"},
	} {
		_, err := d.store.CreateKey(d.Context(), wrong, d.act("ada"))
		d.wantErr(err, store.ErrRefused)
	}
	d.wantActs("ada key.create "+k.ID.String(), "ada key.create "+bare.ID.String())
}

func keyTaken(d *serviceDriver) {
	first := d.created(d.key("a"))
	sameID, sameHash := d.key("b"), d.key("c")
	sameID.ID, sameHash.Hash = first.ID, first.Hash
	for _, k := range []wire.Key{first, sameID, sameHash} {
		_, err := d.store.CreateKey(d.Context(), k, d.act("bob"))
		d.wantErr(err, store.ErrConflict)
		_, err = d.store.RotateKey(d.Context(), first.ID, k, d.now, d.act("bob"))
		d.wantErr(err, store.ErrConflict)
	}
	wantSame(d, d.keyOf(first.Hash), first)
	d.wantActs("ada key.create " + first.ID.String())
}

func keyFirst(d *serviceDriver) {
	var made atomic.Int64
	d.together(10, func(int) error {
		created, err := d.store.CreateFirstKey(d.Context(), d.key("first"), d.act("ada"))
		if created {
			made.Add(1)
		}
		return err
	})
	list, _, err := d.store.Keys(d.Context(), sqldb.Page{})
	d.must(err)
	if made.Load() != 1 || len(list) != 1 {
		d.Fatalf("%d nodes made the first key, there are %d", made.Load(), len(list))
	}
	d.wantActs("ada key.create " + list[0].ID.String())
	_, err = d.store.RevokeKey(d.Context(), list[0].ID, d.act("ada"))
	d.must(err)
	created, err := d.store.CreateFirstKey(d.Context(), d.key("second"), d.act("ada"))
	if d.must(err); created {
		d.Error("a revoked key was none")
	}
}

func keyList(d *serviceDriver) {
	var want []wire.Key
	for i := range 7 {
		want = append(want, d.created(d.key(fmt.Sprint(i))))
		if i%2 == 1 {
			d.wait(time.Second)
		}
	}
	slices.Reverse(want)
	for _, size := range []int{1, 3, 7, 100} {
		got := walked(d, func(after sqldb.Cursor) ([]wire.Key, sqldb.Cursor, error) {
			return d.store.Keys(d.Context(), sqldb.Page{Cursor: after, Limit: size})
		}, sqldb.Cursor.IsZero)
		wantSame(d, got, want)
	}
}

func keyRevoked(d *serviceDriver) {
	k := d.created(d.key("a"))
	d.wait(time.Hour)
	revoked, err := d.store.RevokeKey(d.Context(), k.ID, d.act("bob"))
	d.must(err)
	want := k
	want.RevokedAt, want.RevokedBy = d.now, "bob"
	wantSame(d, revoked, want)
	d.wait(time.Hour)
	again, err := d.store.RevokeKey(d.Context(), k.ID, d.act("eve"))
	d.must(err)
	wantSame(d, again, want)
	wantSame(d, d.keyOf(k.Hash), want)
	if want.Valid(d.now) || !k.Valid(d.now) {
		d.Error("a revoked key is valid, or the one that was not is not")
	}
	d.wantActs("ada key.create "+k.ID.String(), "bob key.revoke "+k.ID.String())
	_, err = d.store.RevokeKey(d.Context(), d.ids.New(d.now), d.act("bob"))
	d.wantErr(err, sqldb.ErrNotFound)
}

func keyRotated(d *serviceDriver) {
	old := d.created(d.key("a"))
	d.wait(time.Hour)
	ends := d.now.Add(day)
	next, err := d.store.RotateKey(d.Context(), old.ID, d.key("b"), ends, d.act("bob"))
	d.must(err)
	wantSame(d, d.keyOf(next.Hash), next)
	want := old
	want.RotatedTo, want.ExpiresAt = next.ID, ends
	wantSame(d, d.keyOf(old.Hash), want)
	d.wantActs("ada key.create "+old.ID.String(), "bob key.rotate "+old.ID.String())

	_, err = d.store.RotateKey(d.Context(), old.ID, d.key("c"), ends, d.act("bob")) // it has a successor
	d.wantErr(err, store.ErrConflict)
	third, err := d.store.RotateKey(d.Context(), next.ID, d.key("d"), next.ExpiresAt.Add(day), d.act("bob"))
	d.must(err)
	if got := d.keyOf(next.Hash); !got.ExpiresAt.Equal(next.ExpiresAt) {
		d.Errorf("a rotated key lives until %v, its own end was %v", got.ExpiresAt, next.ExpiresAt)
	}
	_, err = d.store.RevokeKey(d.Context(), third.ID, d.act("bob"))
	d.must(err)
	_, err = d.store.RotateKey(d.Context(), third.ID, d.key("e"), ends, d.act("bob"))
	d.wantErr(err, store.ErrConflict)
	_, err = d.store.RotateKey(d.Context(), d.ids.New(d.now), d.key("f"), ends, d.act("bob"))
	d.wantErr(err, sqldb.ErrNotFound)
	list, _, err := d.store.Keys(d.Context(), sqldb.Page{})
	if d.must(err); len(list) != 3 || len(d.acts()) != 4 {
		d.Errorf("there are %d keys and %d acts", len(list), len(d.acts()))
	}
}

func keyTouched(d *serviceDriver) {
	a, b, c := d.created(d.key("a")), d.created(d.key("b")), d.created(d.key("c"))
	late := d.now.Add(time.Hour)
	d.together(8, func(i int) error {
		return d.store.TouchKeys(d.Context(), map[recoup.ID]time.Time{
			a.ID: late.Add(-time.Duration(i) * time.Minute), b.ID: d.now, d.ids.New(d.now): late,
		})
	})
	d.must(d.store.TouchKeys(d.Context(), nil))
	a.LastUsedAt, b.LastUsedAt = late, d.now
	for _, k := range []wire.Key{a, b, c} {
		wantSame(d, d.keyOf(k.Hash), k)
	}
	_, err := d.store.RevokeKey(d.Context(), a.ID, d.act("ada"))
	d.must(err)
	d.must(d.store.TouchKeys(d.Context(), map[recoup.ID]time.Time{a.ID: late.Add(time.Second)})) // what a node had still to report
	if got := d.keyOf(a.Hash); !got.LastUsedAt.Equal(late.Add(time.Second)) || got.RevokedAt.IsZero() {
		d.Errorf("after its end the key is %+v", got)
	}
}
