package endtoend

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/test/chaos"
)

// sliceLength is for how long faults happen in one slice: the one figure that decides what
// chaos costs. There are four tests that run one with every change, which makes five
// minutes of faults. RECOUP_CHAOS_SLICE is another.
const sliceLength = 75 * time.Second

// regime is the faults of a test. The first slice, and every fourth from there, has all
// kinds of them; the others have, one close after the other, those that are counted.
// RECOUP_CHAOS_DENSE=1 has such faults in every slice, and so repeats one of them.
type regime struct {
	mixed, dense chaos.Mix
	rest         time.Duration                     // after a fault of a dense slice, at most
	goals        map[string]func(chaos.Counts) int // how often something has to happen, by the variable that says so
}

const (
	everyFourth = 4
	mixedRest   = time.Second
)

// faults returns what a slice has, and the longest rest after a fault.
func (r regime) faults(slice int) (chaos.Mix, time.Duration) {
	if slice%everyFourth == 0 && os.Getenv("RECOUP_CHAOS_DENSE") == "" {
		return r.mixed, mixedRest
	}
	return r.dense, r.rest
}

// reached reports whether as much has happened as the environment asks for. If it does
// not, one slice is enough.
func (r regime) reached(total chaos.Counts) bool {
	for name, count := range r.goals {
		if wanted, _ := strconv.Atoi(os.Getenv(name)); count(total) < wanted {
			return false
		}
	}
	return true
}

// inSlices runs slices with seeds that follow each other, until as much has happened as
// is asked for, or one fails, and says what was felt in all of them.
func inSlices(t *testing.T, r regime, prepare func(*testing.T, uint64) *chaosRun) {
	t.Helper()
	var felt []chaos.Measured
	total, first, now := chaos.Counts{}, seed(), time.Now
	begin := now()
	for i := 0; ; i++ {
		number := first + uint64(i)
		t.Run(fmt.Sprint("seed ", number), func(t *testing.T) {
			c := prepare(t, number)
			c.mix, c.rest = r.faults(i)
			c.lasts = sliceLasts(t)
			got := c.run()
			total.Add(got.counts)
			felt = chaos.Merge(felt, got.felt)
		})
		t.Logf("after %d slices, in %s: %d nodes killed; %s", i+1, now().Sub(begin).Round(time.Second), total.Kills(), total)
		if t.Failed() || r.reached(total) {
			break
		}
	}
	for i := range felt {
		t.Logf("in all slices: %s", felt[i].String())
	}
}

// sliceLasts is for how long faults happen.
func sliceLasts(t *testing.T) time.Duration {
	t.Helper()
	length, err := time.ParseDuration(cmp.Or(os.Getenv("RECOUP_CHAOS_SLICE"), sliceLength.String()))
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		return length / 4
	}
	return length
}
