package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// checker looks for what the schema cannot see: names that lead nowhere, values
// that contradict each other, rules that could never apply. A value that is
// empty was already refused by the schema, or is not given: it is left alone.
type checker struct {
	problems
	doc   *document
	file  *file
	codes *fault.Registry // nil: every code is accepted

	registry *fault.Registry // with the codes of the file
	own      []fault.Definition
}

// check returns what it found, and the codes that the file may name and brings along.
func check(doc *document, f *file, codes *fault.Registry) *checker {
	c := &checker{doc: doc, file: f, codes: codes}
	c.checkVersion()
	c.own = c.checkCodes()
	c.checkHubs()
	c.checkTables()
	c.checkSeverities()
	c.checkRetry()
	c.checkParking()
	c.checkLadder()
	c.checkMetrics()
	c.checkAlerts()
	c.checkNotifications()
	c.checkAltitudes()
	c.checkLedger()
	return c
}

// at returns where the value at a path is written. A value that is not written
// has the place of what it is missing from.
func (d *document) at(path ...string) position {
	for i := len(path); i > 0; i-- {
		if place, ok := d.places[pointer(path[:i]...)]; ok && i == len(path) {
			return place.value
		} else if ok {
			return place.key
		}
	}
	return start
}

// given reports whether the file has a value at a path.
func (d *document) given(path ...string) bool {
	_, ok := d.places[pointer(path...)]
	return ok
}

// path extends a path without touching the original.
func path(base []string, steps ...string) []string { return append(slices.Clone(base), steps...) }

// reference refuses a name that is not a key of known. What was filled in leads nowhere
// only where something that is written does, which is refused there.
func reference[V any](c *checker, what, name string, known map[string]V, at ...string) {
	if _, ok := known[name]; ok || name == "" || len(known) == 0 || c.doc.at(at...) == (position{}) {
		return
	}
	names := slices.Sorted(maps.Keys(known))
	c.add(c.doc.at(at...), "%s is no %s, expected %s%s", name, what, alternatives(names), hint(name, names))
}

// tier refuses a name that is no tier and, for overrides, a tier without end:
// only a table may decide that its errors stay for ever.
func (c *checker) tier(name string, override bool, at ...string) {
	reference(c, "tier", name, c.file.Tiers, at...)
	if override && c.file.Tiers[name].Lasts == forever {
		c.addEndless(name, c.doc.at(at...), "%s never ends, expected a tier that does: only a table may keep errors for ever", name)
	}
}

// addEndless refuses something because its tier never ends. Where the file does not say
// which tier that has, it is the tier itself that is refused, once.
func (c *checker) addEndless(tier string, at position, format string, args ...any) {
	if own := c.doc.at("tiers", tier, "lasts"); at == (position{}) && own != at {
		at, format, args = own, "%s never ends, and what the file leaves to defaults has this tier, expected a duration (INFINITE is for ever)", []any{tier}
	}
	said := len(c.problems)
	c.add(at, format, args...)
	if slices.Contains(c.problems[:said], c.problems[said]) {
		c.problems = c.problems[:said]
	}
}

// reason refuses a parking reason that is not described.
func (c *checker) reason(r recoup.ParkReason, at ...string) {
	known := map[string]string{}
	for name, text := range c.file.Parking.Reasons {
		known[string(name)] = text
	}
	reference(c, "parking reason", string(r), known, at...)
}

// knownCodes refuses codes that are not registered.
func (c *checker) knownCodes(codes []recoup.Code, at ...string) {
	for i, code := range codes {
		c.knownCode(code, path(at, itoa(i))...)
	}
}

func (c *checker) knownCode(code recoup.Code, at ...string) {
	if c.codes == nil || code == "" {
		return
	}
	def, ok := c.codes.Lookup(code)
	switch {
	case !ok:
		var names []string
		for _, d := range c.codes.All() {
			names = append(names, string(d.Code))
		}
		c.add(c.doc.at(at...), "%s is not registered, expected a registered code%s", code, hint(string(code), names))
	case def.Code != code:
		c.add(c.doc.at(at...), "%s is an alias, expected %s", code, def.Code)
	}
}

// once refuses names that a list has twice.
func (c *checker) once(what string, names []string, at ...string) {
	seen := map[string]int{}
	for i, name := range names {
		if first, again := seen[name]; again && name != "" {
			c.add(c.doc.at(path(at, itoa(i))...), "a second %s is called %s, expected another name: item %d has it", what, name, first+1)
			continue
		}
		seen[name] = i
	}
}

// checkVersion refuses 1.0, which YAML reads as a number: 1.0 and 1.00 would be one.
func (c *checker) checkVersion() {
	if strings.Count(string(c.file.Version), ".") == 1 {
		c.add(c.doc.at("version"), "version is %s, expected a version such as 1 or 1.0.0", c.file.Version)
	}
}

func (c *checker) checkHubs() {
	reference(c, "hub", c.file.PlatformHub, c.file.Hubs, "platform_hub")
	c.checkOwned()
	c.checkHubNames()
	for name, p := range c.file.Providers {
		reference(c, "hub", p.Hub, c.file.Hubs, "providers", name, "hub")
	}
	for _, id := range c.doc.keysOf("hubs") {
		at := []string{"hubs", id, "overrides"}
		o := c.file.Hubs[id].Overrides
		c.tier(o.TTL, true, path(at, "ttl")...)
		for i, name := range o.Tables {
			here := path(at, "tables", itoa(i))
			reference(c, "table", name, c.file.Tables, here...)
			if t, ok := c.file.Tables[name]; ok && t.Hub != "" && t.Hub != id {
				c.add(c.doc.at(here...), "%s belongs to the hub %s, expected a table of %s", name, t.Hub, id)
			}
		}
		c.checkFamilies(o.AutoPark, path(at, "auto_park"))
	}
}

// checkHubNames refuses a name that also means another hub: people name a hub by its id or its name.
func (c *checker) checkHubNames() {
	owner := map[string]string{}
	for _, id := range c.doc.keysOf("hubs") {
		owner[strings.ToLower(id)] = id
	}
	for _, id := range c.doc.keysOf("hubs") {
		name := strings.ToLower(c.file.Hubs[id].Name)
		if other, taken := owner[name]; name != "" && taken && other != id {
			c.add(c.doc.at("hubs", id, "name"), "%s also names the hub %s, expected a name of its own", c.file.Hubs[id].Name, other)
		}
		owner[name] = id
	}
}

// checkOwned refuses what two hubs list, and a service that is another hub's table:
// it would be nobody's to say who speaks for it.
func (c *checker) checkOwned() {
	services, pipelines := map[string]string{}, map[string]string{}
	for _, id := range c.doc.keysOf("hubs") {
		for i, name := range c.file.Hubs[id].Services {
			other := services[name]
			if t, ok := c.file.Tables[name]; ok && t.Hub != id {
				other = t.Hub
			}
			c.one(services, name, id, other, "hubs", id, "services", itoa(i))
		}
		for i, name := range c.file.Hubs[id].Pipelines {
			c.one(pipelines, name, id, pipelines[name], "hubs", id, "pipelines", itoa(i))
		}
	}
}

// one gives a name to a hub unless another has it.
func (c *checker) one(owner map[string]string, name, id, other string, at ...string) {
	if other != "" {
		c.add(c.doc.at(at...), "%s belongs to the hub %s already, expected it in one hub", name, other)
	}
	owner[name] = id
}

func (c *checker) checkFamilies(families []fileFamily, at []string) {
	var names []string
	owner := map[recoup.Code]string{}
	for i, f := range families {
		here := path(at, itoa(i))
		names = append(names, f.Family)
		c.knownCodes(f.Codes, path(here, "codes")...)
		c.reason(f.Reason, path(here, "reason")...)
		for j, code := range f.Codes {
			if other, taken := owner[code]; taken {
				c.add(c.doc.at(path(here, "codes", itoa(j))...), "%s is already counted by %s, expected it in one family", code, other)
			}
			owner[code] = f.Family
		}
	}
	c.once("family", names, at...)
}
