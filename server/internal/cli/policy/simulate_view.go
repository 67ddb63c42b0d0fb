package policy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/simulation"
)

// simulationPart is one table of a simulation's counts.
type simulationPart struct {
	heading string
	rows    func(simulation.Result) [][]string
	note    string
}

var simulationParts = []simulationPart{
	{
		"WHAT BECAME OF THEM",
		perTable([]string{"REPORTED", "RESOLVED", "ARCHIVED", "EXPIRED", "REPLACED", "OPEN", "ORPHANS"}, func(t *simulation.Tally) []string {
			return append(numbers(t.Reported, t.Archived[recoup.ResolvedArchive], t.Archived[recoup.ManualArchive],
				t.Archived[recoup.TTLExpired], t.Archived[recoup.SupersededByNext], total(t.Open)), strconv.Itoa(t.Orphans))
		}),
		"Archived is by hand; replaced by a newer report of the same failure. Orphans are those reported ones that fitted no other table.",
	},
	{
		"RETRIES",
		perTable([]string{"ATTEMPTS", "SUCCEEDED", "FAILED", "WORKER LOST"}, func(t *simulation.Tally) []string {
			return numbers(t.Attempts, t.Succeeded, t.Failed, t.Lost)
		}),
		"Attempts that are in no other column were taken away, or were still at work.",
	},
	{
		"PARKED",
		perTable([]string{"PARKED", "NO PARK", "UNPARKED", "TO TIER 2", "TO TIER 3", "RESOLVED"}, func(t *simulation.Tally) []string {
			return numbers(total(t.Parked), t.NotParked, t.Unparked, t.Escalated[2], t.Escalated[3], t.ResolvedByPerson)
		}),
		"No park: should have been parked, which the table does not allow.",
	},
	{"WHY", func(r simulation.Result) [][]string { return counts("REASON", "PARKED", r.Total.Parked) }, ""},
	{
		"BLOCKED ENTITIES",
		perTable([]string{"ENTITIES", "SPELLS", "MEAN", "LONGEST", "TOTAL", "STILL", "BY TTL"}, func(t *simulation.Tally) []string {
			b := t.Blocked
			return append(numbers(b.Entities, b.Spells), seconds(b.MeanSeconds), seconds(b.LongestSeconds),
				seconds(b.TotalSeconds), strconv.Itoa(b.Now), strconv.Itoa(t.UnblockedByTTL))
		}),
		"A spell lasts as long as any error blocks the entity. By TTL: nothing but its expiry has ended the block.",
	},
	{"NOTIFICATIONS", func(r simulation.Result) [][]string { return counts("ABOUT", "SENT", r.Total.Notices) }, ""},
}

// perTable makes a row for each table that has anything to show, and one for all.
func perTable(header []string, cells func(*simulation.Tally) []string) func(simulation.Result) [][]string {
	return func(r simulation.Result) [][]string {
		rows := [][]string{append([]string{"TABLE"}, header...)}
		for i := range r.Tables {
			row := cells(&r.Tables[i])
			if slices.ContainsFunc(row, func(cell string) bool { return cell != "0" && cell != seconds(0) }) {
				rows = append(rows, append([]string{r.Tables[i].Table}, row...))
			}
		}
		return append(rows, append([]string{"all"}, cells(&r.Total)...))
	}
}

// counts makes a row for each key, in alphabetical order.
func counts[K ~string](name, number string, m map[K]int) [][]string {
	rows := [][]string{{name, number}}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		rows = append(rows, []string{string(k), strconv.Itoa(m[k])})
	}
	return rows
}

func numbers(list ...int) []string {
	cells := make([]string, len(list))
	for i, n := range list {
		cells[i] = strconv.Itoa(n)
	}
	return cells
}

func total[K comparable](m map[K]int) int {
	sum := 0
	for _, n := range m {
		sum += n
	}
	return sum
}

// seconds writes a time in its two largest units. Sums over many entities can be
// longer than a duration can hold; of centuries the days are enough.
func seconds(n int64) string {
	const day, century = 24 * 60 * 60, 36_525
	if days := n / day; days > century {
		return fmt.Sprintf("%dd", days)
	}
	return brief(time.Duration(n) * time.Second)
}
