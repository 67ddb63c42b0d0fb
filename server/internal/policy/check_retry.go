package policy

import (
	"slices"
	"strconv"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
)

func itoa(i int) string { return strconv.Itoa(i) }

// shapes says what each kind of schedule needs, and what else it takes.
var shapes = map[retry.Kind]struct{ needs, takes []string }{
	retry.None:        {},
	retry.Exponential: {needs: []string{"base", "multiplier"}, takes: []string{"cap", "jitter"}},
	retry.Linear:      {needs: []string{"base"}, takes: []string{"cap", "jitter"}},
	retry.Fixed:       {needs: []string{"steps"}, takes: []string{"jitter"}},
}

func (c *checker) checkSchedule(s fileSchedule, at ...string) {
	shape, ok := shapes[s.Kind]
	if !ok {
		return
	}
	for _, key := range shape.needs {
		if !c.doc.given(path(at, key)...) {
			c.add(c.doc.at(path(at, "kind")...), "the schedule is %s and has no %s, expected one", s.Kind, key)
		}
	}
	for _, key := range c.doc.keysOf(at...) {
		if key != "kind" && !slices.Contains(shape.needs, key) && !slices.Contains(shape.takes, key) && scheduleKey(key) {
			c.add(c.doc.at(path(at, key)...), "%s has no meaning in a schedule of kind %s, expected it gone", key, s.Kind)
		}
	}
	if s.Cap > 0 && s.Cap < s.Base {
		c.add(c.doc.at(path(at, "cap")...), "the cap is below the base, expected at least %s", FormatDuration(time.Duration(s.Base)))
	}
}

func scheduleKey(key string) bool {
	return slices.Contains([]string{"base", "multiplier", "cap", "jitter", "steps"}, key)
}

// checkRetry holds the categories to what a stored error can do: the system
// retries TRANSIENT and OPERATIONAL ones at times that can be foretold, and
// STRUCTURAL ones never.
func (c *checker) checkRetry() {
	for _, category := range recoup.Categories() {
		f := c.file.Retry.Categories[category]
		at := []string{"retry", "categories", string(category)}
		c.checkSchedule(f.Schedule, path(at, "schedule")...)
		kind := c.doc.at(path(at, "schedule", "kind")...)
		switch byHand := f.Schedule.Kind == retry.None; {
		case f.Schedule.Kind == "":
		case category == recoup.Structural && !byHand:
			c.add(kind, "%s failures are retried by hand only, expected none", category)
		case category == recoup.Structural && f.Window > 0:
			c.add(c.doc.at(path(at, "window")...), "%s failures are retried by hand only, expected no window", category)
		case category != recoup.Structural && byHand:
			c.add(kind, "%s failures are retried by the system, expected exponential, linear or fixed", category)
		}
		if f.Schedule.Jitter != "" && f.Schedule.Jitter != retry.NoJitter {
			c.add(c.doc.at(path(at, "schedule", "jitter")...), "the times of stored errors are foretold, expected no jitter")
		}
		if category == recoup.Structural && f.MaxRetries > 1 {
			c.add(c.doc.at(path(at, "max_retries")...), "%s failures are retried once for every unpark, expected 1", category)
		}
		f.Schedule.Jitter = retry.NoJitter
		if first := f.Schedule.compile().Delay(1, nil); f.Window > 0 && first > time.Duration(f.Window) {
			c.add(c.doc.at(path(at, "window")...), "the window closes before the first retry, expected at least %s", FormatDuration(first))
		}
	}
	c.checkFloors()
}

func (c *checker) checkFloors() {
	floors := c.file.Retry.Floors
	order := []recoup.Class{recoup.ClassImmediate, recoup.ClassShortDelay, recoup.ClassLongDelay}
	for i, class := range order[1:] {
		if before := order[i]; floors[class] < floors[before] && c.doc.given("retry", "floors", string(class)) {
			c.add(c.doc.at("retry", "floors", string(class)), "%s is below %s, expected at least %s", class, before, FormatDuration(time.Duration(floors[before])))
		}
	}
}

func (c *checker) checkParking() {
	var names []string
	for i, f := range c.file.Parking.Conditions {
		at := []string{"parking", "conditions", itoa(i)}
		names = append(names, f.Name)
		c.knownCodes(f.Codes, path(at, "codes")...)
		c.reason(f.Reason, path(at, "reason")...)
		for j, table := range f.Tables {
			reference(c, "table", table, c.file.Tables, path(at, "tables", itoa(j))...)
		}
	}
	c.once("condition", names, "parking", "conditions")
}

// checkLadder wants rungs that can be climbed: 1, 2, 3, each later than the last.
func (c *checker) checkLadder() {
	ladder := c.file.Escalation.Ladder
	for i, r := range ladder {
		at := []string{"escalation", "ladder", itoa(i)}
		if r.Tier != 0 && r.Tier != i+1 {
			c.add(c.doc.at(path(at, "tier")...), "rung %d of the ladder is tier %d, expected tier %d", i+1, r.Tier, i+1)
		}
		after := c.doc.at(path(at, "after")...)
		switch {
		case i == 0 && r.After != 0:
			c.add(after, "the first rung begins after %s, expected 0s: whatever is parked has an owner at once", FormatDuration(time.Duration(r.After)))
		case i > 0 && c.doc.given(path(at, "after")...) && r.After <= ladder[i-1].After:
			c.add(after, "tier %d begins after %s, expected more than the %s of the rung below", r.Tier,
				FormatDuration(time.Duration(r.After)), FormatDuration(time.Duration(ladder[i-1].After)))
		}
	}
	for _, name := range c.doc.keysOf("tiers") {
		lasts, err := ParseDuration(c.file.Tiers[name].Lasts)
		if err == nil && lasts <= time.Duration(c.file.Escalation.ExpiryNotice) {
			c.add(c.doc.at("escalation", "expiry_notice"), "errors of the tier %s would be born with their notice, expected less than its %s",
				name, FormatDuration(lasts))
		}
	}
	if l := c.file.Leases; l.Max > 0 && l.Default > l.Max {
		c.add(c.doc.at("leases", "default"), "the default lease is longer than the longest, expected at most %s", FormatDuration(time.Duration(l.Max)))
	}
}

// checkAltitudes looks at the retries that do not belong to a stored error.
func (c *checker) checkAltitudes() {
	c.checkRequest(c.file.Requests.Default, "requests", "default")
	for _, code := range c.doc.keysOf("requests", "codes") {
		c.knownCode(recoup.Code(code), "requests", "codes", code)
		c.checkRetried(recoup.Code(code))
		c.checkRequest(c.file.Requests.Codes[recoup.Code(code)], "requests", "codes", code)
	}
	c.checkSchedule(c.file.Stages.Schedule, "stages", "schedule")
	if c.file.Stages.Schedule.Kind == retry.None {
		c.add(c.doc.at("stages", "schedule", "kind"), "stages are retried, expected exponential, linear or fixed")
	}
	if s := c.file.Stages; s.RetryAfterCeiling > 0 && s.RetryAfterCeiling < s.Schedule.Cap {
		c.add(c.doc.at("stages", "retry_after_ceiling"), "the ceiling is below the cap of the schedule, expected at least %s", FormatDuration(time.Duration(s.Schedule.Cap)))
	}
	c.checkKept(c.file.Stages.ReplayRetention, "stages", "replay_retention")
	c.checkKept(c.file.Stages.CheckpointRetention, "stages", "checkpoint_retention")
	g := c.file.Gate
	if len(g.Waits) > 0 && g.MaxAttempts > 0 && len(g.Waits) != g.MaxAttempts {
		c.add(c.doc.at("gate", "waits"), "%d waits for %d attempts, expected one after each", len(g.Waits), g.MaxAttempts)
	}
	for _, code := range c.doc.keysOf("gate", "reasons") {
		c.knownCode(recoup.Code(code), "gate", "reasons", code)
	}
}

// leastKept is how long people need at least to look at what is over.
const leastKept = 24 * time.Hour

func (c *checker) checkKept(d duration, at ...string) {
	if d > 0 && time.Duration(d) < leastKept {
		c.add(c.doc.at(at...), "it would be gone before anybody could look at it, expected at least %s", FormatDuration(leastKept))
	}
}

func (c *checker) checkRequest(f fileRequest, at ...string) {
	if f.MaxAttempts == 0 {
		return
	}
	for _, key := range []string{"base", "multiplier", "cap"} {
		if !c.doc.given(path(at, key)...) {
			c.add(c.doc.at(path(at, "max_attempts")...), "requests are retried without a %s, expected one", key)
		}
	}
	if f.Cap > 0 && f.Cap < f.Base {
		c.add(c.doc.at(path(at, "cap")...), "the cap is below the base, expected at least %s", FormatDuration(time.Duration(f.Base)))
	}
}

// checkRetried refuses retries of a code that nobody retries.
func (c *checker) checkRetried(code recoup.Code) {
	if c.registry == nil || c.file.Requests.Codes[code].MaxAttempts == 0 {
		return
	}
	if def, ok := c.registry.Lookup(code); ok && def.Class == recoup.ClassFatal {
		c.add(c.doc.at("requests", "codes", string(code), "max_attempts"), "%s is fatal and is never retried, expected 0", code)
	}
}

// detailTypes are the keys that details may have, with their types (spec 003, governance of
// details). The database refuses others.
func detailTypes() map[string]DetailType {
	return map[string]DetailType{
		"retryable": DetailBool, "field": DetailString, "limit": DetailInt, "window_sec": DetailInt,
		"expected_etag": DetailString, "existing_id": DetailUUID,
	}
}

// checkDetails holds the keys of details to those of the specification: a policy may leave keys
// out. What is retryable is always kept, because rollups count it.
func (c *checker) checkDetails() {
	at := []string{"ledger", "details", "keys"}
	for key, kind := range c.file.Ledger.Details.Keys {
		here := path(at, key)
		reference(c, "key of details", key, detailTypes(), here...)
		if want, known := detailTypes()[key]; known && kind != "" && kind != want {
			c.add(c.doc.at(here...), "%s is %s, expected %s", key, kind, want)
		}
	}
	if c.doc.given(at...) && !c.doc.given(path(at, "retryable")...) {
		c.add(c.doc.at(at...), "retryable is missing, expected retryable: bool, which statistics count")
	}
}

func (c *checker) checkLedger() {
	c.checkDetails()
	l := c.file.Ledger
	if l.Details.MaxBytes > 0 && l.Details.MaxValueBytes > l.Details.MaxBytes {
		c.add(c.doc.at("ledger", "details", "max_value_bytes"), "one value may be larger than all together, expected at most %d", l.Details.MaxBytes)
	}
	if l.RollupRetention > 0 && l.RollupRetention < l.EventRetention {
		c.add(c.doc.at("ledger", "rollup_retention"), "rollups go before the events they sum up, expected at least %s", FormatDuration(time.Duration(l.EventRetention)))
	}
}
