package conformance

import (
	"encoding/hex"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
)

func idClauses() []serviceClause {
	return []serviceClause{
		{"a thing is found by the beginning or the end of its id, the newest first, and no other", idFound},
		{"an error is found by a part of its id, archived or not", idOfError},
	}
}

// wantFound holds the store to what it finds by a part of an id.
func (d *serviceDriver) wantFound(kind recoup.IDKind, part string, limit int, want ...recoup.ID) {
	d.Helper()
	digits, err := recoup.ParseIDPart(part)
	d.must(err)
	found, err := d.store.FindIDs(d.Context(), kind, digits, limit)
	d.must(err)
	got := []recoup.ID{}
	for _, f := range found {
		got = append(got, f.ID)
	}
	if !slices.Equal(got, append([]recoup.ID{}, want...)) {
		d.Errorf("%s by %s: found %v, want %v", kind, part, got, want)
	}
}

// keyed makes a key of an id.
func (d *serviceDriver) keyed(digits string) recoup.ID {
	d.Helper()
	k := d.key("k" + digits[:6])
	_, err := hex.Decode(k.ID[:], []byte(digits))
	d.must(err)
	copy(k.Hash[:], k.ID[:])
	d.wait(time.Second)
	return d.created(k).ID
}

func idFound(d *serviceDriver) {
	var (
		a = d.keyed("018f00000001700080000000110abcde")
		b = d.keyed("018f00000001700080000000220abcde")
		c = d.keyed("018f00000002700080000000222ffffe")
		z = d.keyed("0abcde00000270008000000000000000") // begins as others end
	)
	d.wantFound(recoup.KeyIDs, "0abcde", 10, z, b, a)
	d.wantFound(recoup.KeyIDs, "110abcde", 10, a)
	d.wantFound(recoup.KeyIDs, "20abcde", 10, b)
	d.wantFound(recoup.KeyIDs, "2FF-FFE", 10, c)
	d.wantFound(recoup.KeyIDs, "018f00000001", 10, b, a)
	d.wantFound(recoup.KeyIDs, "018f00", 10, c, b, a)
	d.wantFound(recoup.KeyIDs, "018f00", 1, c)
	d.wantFound(recoup.KeyIDs, b.String(), 10, b)
	d.wantFound(recoup.KeyIDs, "00000001", 10)       // from its middle
	d.wantFound(recoup.ErrorIDs, "018f00000001", 10) // it is no error
}

func idOfError(d *serviceDriver) {
	e := NewDriver(d.TB, d.store)
	open, gone := e.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium), e.Report(dol, "e2", "NETWORK_TIMEOUT", recoup.Medium)
	e.Archive(gone.ID)
	for _, id := range []recoup.ID{open.ID, gone.ID} {
		whole := id.String()
		d.wantFound(recoup.ErrorIDs, whole[len(whole)-8:], 10, id)
		d.wantFound(recoup.ErrorIDs, whole, 10, id)
	}
	part, err := recoup.ParseIDPart(gone.ID.String())
	d.must(err)
	found, err := d.store.FindIDs(d.Context(), recoup.ErrorIDs, part, 10)
	if err != nil || len(found) != 1 || found[0].Of != dol || found[0].What != "NETWORK_TIMEOUT" || !found[0].At.Equal(gone.CreatedAt) {
		d.Errorf("found %+v, %v", found, err)
	}
}
