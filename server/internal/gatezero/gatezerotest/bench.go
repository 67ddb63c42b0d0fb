package gatezerotest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// Chunk is how many lines of a file the benchmarks import at once.
const Chunk = 5000

// Importing returns the next lines of a file, chunk by chunk, and what imports them
// into a store.
func Importing(b *testing.B, s Database) (next func() []recoup.Intake, add func([]recoup.Intake)) {
	x := newGateBench(b, func(*testing.B) Database { return s })
	return x.companies, x.add
}

// Bench measures Gate Zero on a store.
func Bench(b *testing.B, open func(b *testing.B) Database) {
	b.Run("import_again", func(b *testing.B) {
		x := newGateBench(b, open)
		list := x.companies()
		x.add(list)
		perRow(b, func() { x.add(list) })
	})
	b.Run("claim_and_fail_500", func(b *testing.B) { benchWork(newGateBench(b, open), b) })
	b.Run("claim_beside_100000_killed", func(b *testing.B) {
		x := newGateBench(b, open)
		x.fill(few(20))
		x.stepBatch("b1", gatezero.Kill{By: "ada"})
		x.wait(day)
		for b.Loop() {
			if got := x.claim(10); len(got) != 0 {
				b.Fatal(len(got))
			}
		}
	})
}

// gateBench is a driver that keeps no book.
type gateBench struct {
	*gateDriver
	lines int
}

func newGateBench(b *testing.B, open func(b *testing.B) Database) *gateBench {
	x := &gateBench{gateDriver: newGateDriver(b, open(b))}
	x.batch("b1")
	return x
}

// few is how many chunks there are: one with -short.
func few(chunks int) int {
	if testing.Short() {
		return 1
	}
	return chunks
}

func perRow(b *testing.B, chunk func()) {
	for b.Loop() {
		chunk()
	}
	b.ReportMetric(Chunk*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// companies are the next lines of a file.
func (x *gateBench) companies() []recoup.Intake {
	list := make([]recoup.Intake, Chunk)
	for i := range list {
		x.lines++
		list[i] = recoup.Intake{
			ID: x.id(), BatchID: "b1", ImportKey: fmt.Sprintf("%09d", x.lines), Status: recoup.IntakePending, State: "OH",
			CompanyName: fmt.Sprintf("Company %d Incorporated", x.lines), Domain: fmt.Sprintf("company%d.example", x.lines),
			LinkedInURL: fmt.Sprintf("https://linkedin.example/company/%d", x.lines), CreatedAt: x.now, UpdatedAt: x.now,
		}
	}
	return list
}

func (x *gateBench) add(list []recoup.Intake) {
	_, err := x.store.ImportIntakes(x.Context(), "b1", x.now, list)
	x.must(err)
}

// fill imports chunks of companies and fails them.
func (x *gateBench) fill(chunks int) {
	for range chunks {
		list := x.companies()
		x.add(list)
		ids := make([]recoup.ID, len(list))
		for i := range list {
			ids[i] = list[i].ID
		}
		x.failAll(ids)
	}
}

// benchWork claims 500 recoveries and says that they failed again.
func benchWork(x *gateBench, b *testing.B) {
	total := 0
	for b.Loop() {
		claimed := x.claim(500)
		if len(claimed) < 500 {
			b.StopTimer()
			x.fill(few(4))
			x.wait(10 * day)
			b.StartTimer()
			claimed = append(claimed, x.claim(500-len(claimed))...)
		}
		steps := make([]gatezero.CaseStep, len(claimed))
		for i, c := range claimed {
			steps[i] = gatezero.CaseStep{ID: c.Recovery.ID, Decide: x.step(failing(c, "TIMEOUT"))}
		}
		_, err := x.store.FinishRecoveries(b.Context(), steps)
		x.must(err)
		total += len(claimed)
	}
	b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "recoveries/s")
}

// Companies are n rows of a file as a store has them, each known by its own key.
func Companies(n int) []recoup.Intake {
	ids := recoup.NewIDSource(rand.Reader)
	list := make([]recoup.Intake, n)
	for i := range list {
		key := sha256.Sum256([]byte(fmt.Sprint(i)))
		list[i] = recoup.Intake{
			ID: ids.New(conformance.Epoch()), BatchID: "b1", ImportKey: base64.RawURLEncoding.EncodeToString(key[:16]), Status: recoup.IntakePending, State: "OH",
			CompanyName: fmt.Sprintf("Company %d Incorporated", i), Domain: fmt.Sprintf("company%d.example", i),
			LinkedInURL: fmt.Sprintf("https://linkedin.example/company/%d", i), CreatedAt: conformance.Epoch(), UpdatedAt: conformance.Epoch(),
		}
	}
	return list
}
