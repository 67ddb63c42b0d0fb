package gatezerotest

import (
	"errors"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

func gateImports() []gateClause {
	return []gateClause{
		{"a batch is made once", gateBatchOnce},
		{"a batch that is complete freezes after fourteen days, and saying so again changes nothing", gateComplete},
		{"an import brings pending intakes", gateImport},
		{"an import that is run again adds only what is missing", gateImportAgain},
		{"an import without a batch can be run again too", gateImportLoose},
		{"an import into an unknown batch is refused, and one that is new to a complete batch", gateImportRefused},
	}
}

func gateBatchOnce(d *gateDriver) {
	d.batch("b1")
	made := d.stepBatch("b1", gatezero.Kill{By: "ada"})
	d.wait(minute)
	again, err := d.store.CreateBatch(d.Context(), "b1", d.now)
	d.must(err)
	if again != made || !again.CreatedAt.Equal(conformance.Epoch()) {
		d.Errorf("made again it is %+v, want %+v", again, made)
	}
	if _, err := d.store.StepBatch(d.Context(), "b2", d.step(gatezero.Kill{})); !errors.Is(err, sqldb.ErrNotFound) {
		d.Errorf("an unknown batch is answered with %v", err)
	}
	if _, err := d.store.Batch(d.Context(), "b2"); !errors.Is(err, sqldb.ErrNotFound) {
		d.Errorf("an unknown batch is read as %v", err)
	}
}

func gateComplete(d *gateDriver) {
	d.batch("b1")
	d.wait(minute)
	b := d.stepBatch("b1", gatezero.Complete{})
	if !b.CompletedAt.Equal(d.now) || !b.FreezeAt.Equal(d.now.Add(14*day)) {
		d.Errorf("complete: %+v", b)
	}
	d.wait(day)
	if again := d.stepBatch("b1", gatezero.Complete{}); again != b {
		d.Errorf("complete again: %+v", again)
	}
	if s, err := d.store.Batch(d.Context(), "b1"); err != nil || s.IntakeBatch != b {
		d.Errorf("stored: %+v, %v", s, err)
	}
}

func gateImport(d *gateDriver) {
	d.batch("b1")
	list := d.candidates(0, 3)
	list[1].Domain, list[1].LinkedInURL, list[1].State, list[1].ImportKey = "", "", "", ""
	_, err := d.store.ImportIntakes(d.Context(), "b1", d.now, list)
	d.must(err)
	for _, want := range list {
		d.know(want.ID)
		want.BatchID, want.Status, want.CreatedAt, want.UpdatedAt = "b1", recoup.IntakePending, d.now, d.now
		if got := d.read(want.ID); got.Intake != want || got.Recovery != (recoup.Recovery{}) || got.Batch.ID != "b1" {
			d.Errorf("stored is %+v, want %+v", got, want)
		}
	}
	if _, err := d.store.Intake(d.Context(), d.id()); !errors.Is(err, sqldb.ErrNotFound) {
		d.Errorf("an unknown intake is read as %v", err)
	}
	d.checkCounts("b1")
}

func gateImportAgain(d *gateDriver) {
	d.batch("b1")
	d.batch("b2")
	first := d.candidates(0, 50)
	d.wantImport("b1", first, gatezero.ImportCount{Added: 50})
	passed, err := d.record(first[7].ID, gatezero.Pass{Worker: "w0"})
	d.must(err)
	for _, i := range first {
		d.know(i.ID)
	}

	d.wait(minute)
	again := d.candidates(0, 60) // the same lines under new ids, and ten more
	d.wantImport("b1", again, gatezero.ImportCount{Added: 10, Present: 50})
	d.wantImport("b1", again, gatezero.ImportCount{Present: 60})
	for _, i := range again[50:] {
		d.know(i.ID)
	}
	if _, err := d.store.Intake(d.Context(), again[7].ID); !errors.Is(err, sqldb.ErrNotFound) {
		d.Errorf("a line was imported twice: %v", err)
	}
	d.wantStored(passed)

	twice := append(d.candidates(100, 1), d.candidates(100, 1)...)
	d.wantImport("b1", twice, gatezero.ImportCount{Added: 1, Present: 1})
	d.know(twice[0].ID)
	mixed := slices.Concat(d.candidates(200, 1), d.candidates(0, 60), d.candidates(201, 70)) // begins with what is new
	d.wantImport("b1", mixed, gatezero.ImportCount{Added: 71, Present: 60})
	for _, i := range append(mixed[61:], mixed[0]) {
		d.know(i.ID)
	}
	d.wantImport("b2", d.candidates(0, 50), gatezero.ImportCount{Added: 50}) // another batch has lines of its own
	d.checkCounts("b1")
}

func (d *gateDriver) wantImport(batch string, list []recoup.Intake, want gatezero.ImportCount) {
	d.Helper()
	if got, err := d.store.ImportIntakes(d.Context(), batch, d.now, list); err != nil || got != want {
		d.Errorf("imported %+v, %v; want %+v", got, err, want)
	}
}

func gateImportLoose(d *gateDriver) {
	d.wantImport("", d.candidates(100, 5), gatezero.ImportCount{Added: 5})
	d.wantImport("", d.candidates(100, 6), gatezero.ImportCount{Added: 1, Present: 5})
	c := d.failed("")
	if c.Batch != (recoup.IntakeBatch{}) || c.Recovery.BatchID != "" {
		d.Errorf("without a batch: %+v", c)
	}
	d.wantStored(c)
}

func gateImportRefused(d *gateDriver) {
	if _, err := d.store.ImportIntakes(d.Context(), "b1", d.now, d.candidates(0, 2)); !errors.Is(err, sqldb.ErrNotFound) {
		d.Errorf("an unknown batch is answered with %v", err)
	}
	d.batch("b1")
	d.intakes("b1", 2)
	d.stepBatch("b1", gatezero.Complete{})
	d.wantImport("b1", d.candidates(0, 2), gatezero.ImportCount{Present: 2})
	if _, err := d.store.ImportIntakes(d.Context(), "b1", d.now, d.candidates(0, 3)); !errors.Is(err, store.ErrRefused) {
		d.Errorf("a new line of a complete batch is answered with %v", err)
	}
	d.checkCounts("b1")
}
