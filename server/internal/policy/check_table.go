package policy

import (
	"cmp"
	"maps"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func (c *checker) checkTables() {
	archives := map[string]string{}
	for _, name := range c.doc.keysOf("tables") {
		t := c.file.Tables[name]
		c.checkTable(name, &t)
		c.checkArchive(name, &t, archives)
	}
	for _, name := range c.doc.keysOf("dead_tables") {
		if c.doc.given("tables", name) {
			c.add(c.doc.places[pointer("dead_tables", name)].key, "%s is dead and governed at once, expected it in one of the lists", name)
		}
	}
	if t, taken := c.file.Tables[baseDeadLetters]; taken && !t.DeadLetters && !slices.ContainsFunc(slices.Collect(maps.Values(c.file.Tables)), func(t fileTable) bool { return t.DeadLetters }) {
		c.add(c.doc.places[pointer("tables", baseDeadLetters)].key, "%s has the name of the table for dead letters, and none holds them, expected dead_letters: true or another name", baseDeadLetters)
	}
	reference(c, "table", c.file.OrphanTable, c.file.Tables, "orphan_table")
	if t, ok := c.file.Tables[c.file.OrphanTable]; ok {
		c.checkOrphanTable(&t)
	}
}

// checkOrphanTable wants a place where lost reports wait for a person.
func (c *checker) checkOrphanTable(t *fileTable) {
	at, name := c.doc.at("orphan_table"), c.file.OrphanTable
	switch {
	case t.EntityRequired == nil || *t.EntityRequired:
		c.add(at, "%s requires an entity, expected a table with entity_required: false, because orphans may have none", name)
	case t.DeadLetters:
		c.add(at, "%s holds dead letters, expected a table of its own for orphans", name)
	case c.endless(t):
		c.addEndless(t.TTL, at, "%s keeps its errors for ever, expected a table whose errors can be acted on", name)
	}
}

func (c *checker) checkTable(name string, t *fileTable) {
	key := func(k string) position { return c.doc.at("tables", name, k) }
	reference(c, "hub", t.Hub, c.file.Hubs, "tables", name, "hub")
	c.tier(t.TTL, false, "tables", name, "ttl")
	c.reason(t.ParkReason, "tables", name, "park_reason")
	if _, known := c.file.Hubs[c.file.PlatformHub]; known && t.Layer == GlobalLayer && t.Hub != "" && t.Hub != c.file.PlatformHub {
		c.add(key("hub"), "a GLOBAL table belongs to %s, expected %s", t.Hub, c.file.PlatformHub)
	}
	c.checkDispositions(name, t)
	c.checkSource(name, t)
	if c.endless(t) {
		c.checkEndless(name, t)
	}
}

// endless reports whether a table keeps its errors for ever.
func (c *checker) endless(t *fileTable) bool { return c.file.Tiers[t.TTL].Lasts == forever }

func (c *checker) checkDispositions(name string, t *fileTable) {
	key := func(k string) position { return c.doc.at("tables", name, k) }
	if slices.Contains(t.Allowed, "") || len(t.Allowed) == 0 {
		return // the schema has refused the list
	}
	allows := func(a recoup.Action) bool { return slices.Contains(t.Allowed, a) }
	retries, parks := allows(recoup.ActionRetry), allows(recoup.ActionPark)
	if t.Default != "" && !allows(t.Default) {
		c.add(key("default"), "the default %s is not among the allowed dispositions, expected %s", t.Default, alternatives(spell(t.Allowed)))
	}
	if retries && !parks && !allows(recoup.ActionArchive) {
		c.add(key("allowed"), "errors may be retried and have no way out when that fails, expected PARK or ARCHIVE as well")
	}
	if t.Blocks && !retries && !parks {
		c.add(key("blocks"), "the table blocks, and nothing it allows can block, expected RETRY or PARK among the allowed")
	}
	if t.DeadLetters && (!parks || len(t.Allowed) > 1) {
		c.add(key("allowed"), "dead letters wait to be replayed, expected PARK alone")
	}
	if t.Default != "" && t.Default != recoup.ActionPark && t.ParkReason != "" {
		c.add(key("park_reason"), "the reason is never used, expected it only where the default is PARK")
	}
}

// checkSource looks at what becomes of the rows of an adopted table. Which columns that
// has, only its database knows.
func (c *checker) checkSource(name string, t *fileTable) {
	at := func(steps ...string) position { return c.doc.at(path([]string{"tables", name, "source"}, steps...)...) }
	if t.DeadLetters && c.doc.given("tables", name, "source") {
		c.add(at(), "dead letters carry work and are not rows of an adopted table, expected no source")
	}
	for i, column := range t.Source.Encrypted {
		if column != "" && slices.Contains(t.Source.Details, column) {
			c.add(at("encrypted", itoa(i)), "%s is among the details, which are not encrypted, expected it in one of the lists", column)
		}
	}
	if c.endless(t) && wire.SourceRules(t.Source).Removes() {
		c.addEndless(t.TTL, at("at_end"), "errors of %s never end, expected keep for their rows", name)
	}
	if t.Blocks && t.Source.DeadLetters {
		for _, other := range slices.Sorted(maps.Keys(c.file.Tables)) {
			if letters := c.file.Tables[other]; letters.DeadLetters && !letters.Blocks {
				c.add(at("dead_letters"), "%s blocks entities and %s does not, so that they would pass when their errors become dead letters, expected blocks: true there", name, other)
			}
		}
	}
}

// checkEndless holds a table that never forgets to what that means: its errors
// are records, which nothing touches.
func (c *checker) checkEndless(name string, t *fileTable) {
	for _, key := range []string{"retention", "archive"} {
		if c.doc.given("tables", name, key) {
			c.add(c.doc.at("tables", name, key), "%s never ends and is never archived, expected no %s", t.TTL, key)
		}
	}
	if slices.ContainsFunc(t.Allowed, func(a recoup.Action) bool { return a != recoup.ActionIgnore && a != "" }) {
		c.addEndless(t.TTL, c.doc.at("tables", name, "allowed"), "errors that are kept for ever are never acted on, expected only IGNORE")
	}
}

func (c *checker) checkArchive(name string, t *fileTable, taken map[string]string) {
	if c.endless(t) {
		return
	}
	archive := cmp.Or(t.Archive, name+c.file.Archive.Suffix)
	at := c.doc.at("tables", name, "archive")
	if other, again := taken[archive]; again {
		c.add(at, "%s is already the archive of %s, expected another", archive, other)
	}
	if c.doc.given("tables", archive) {
		c.add(at, "%s is itself an error table, expected another name for the archive", archive)
	}
	taken[archive] = name
}

func (c *checker) checkSeverities() {
	for _, s := range recoup.Severities() {
		f := c.file.Severities[s]
		at := func(k string) position { return c.doc.at("severities", string(s), k) }
		c.tier(f.TTL, true, "severities", string(s), "ttl")
		c.reason(f.ParkReason, "severities", string(s), "park_reason")
		for _, key := range []string{"otherwise", "ttl", "park_reason"} {
			if c.doc.given("severities", string(s), key) && !c.doc.given("severities", string(s), "disposition") {
				c.add(at(key), "a neutral severity changes nothing, expected a disposition beside %s", key)
			}
		}
		parks := f.Disposition == recoup.ActionPark || f.Otherwise == recoup.ActionPark
		switch {
		case parks && !c.doc.given("severities", string(s), "park_reason"):
			c.add(at("disposition"), "%s parks and says not why, expected a park_reason", s)
		case !parks && f.Disposition != "" && f.ParkReason != "":
			c.add(at("park_reason"), "the reason is never used, expected it only beside PARK")
		}
		if f.Otherwise != "" && f.Otherwise == f.Disposition {
			c.add(at("otherwise"), "otherwise repeats the disposition, expected another one")
		}
	}
}

// spell returns words as plain text.
func spell[S ~string](list []S) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}
