package policy

import (
	_ "embed" // base.yaml
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/recoup-dev/recoup"
)

//go:embed base.yaml
var baseFile []byte

var loadBase = sync.OnceValue(func() *document {
	doc, found := readDocument(baseFile)
	if err := append(found, doc.checkStructure()...).err("base.yaml"); err != nil {
		panic("policy: the embedded base is broken: " + err.Error())
	}
	return doc
})

// merged are the mappings that take single keys from the base: of these a file may
// write some and leave the rest. Every other value is the file's or the base's whole.
var merged = []string{
	"", "tiers", "archive", "severities", "retry", "retry/categories", "retry/floors", "parking", "parking/reasons",
	"escalation", "leases", "metrics", "alerts", "notifications", "requests", "requests/default",
	"stages", "ledger", "ledger/details",
}

// The tables that the base lends a file which has none of their kind.
const (
	baseOrphans     = "public.orphan_errors"
	baseDeadLetters = "pipeline.dead_letters"
)

// fill gives a document what it leaves out. What was filled in has no line: it counts
// as given, at position zero.
func (d *document) fill() {
	root, ok := d.root.(map[string]any)
	if !ok {
		return
	}
	base := loadBase()
	wrote := slices.Clone(d.keysOf("tables"))
	d.merge(base, root, nil)
	d.fillHubs(root)
	tables, ok := root["tables"].(map[string]any)
	if !ok {
		return
	}
	d.lendTables(base, root, tables, wrote)
	for name, t := range tables {
		if table, ok := t.(map[string]any); ok {
			d.fillTable(root, table, name)
		}
	}
}

// open makes a hub or a table with nothing behind its name one that leaves everything to
// the defaults.
func (d *document) open() {
	root, _ := d.root.(map[string]any)
	for _, block := range []string{"hubs", "tables"} {
		named, _ := root[block].(map[string]any)
		for name, value := range named {
			if value == nil {
				named[name] = map[string]any{}
			}
		}
	}
}

// merge takes from the base what a mapping lacks.
func (d *document) merge(base *document, mine map[string]any, at []string) {
	for _, key := range base.keysOf(at...) {
		here := path(at, key)
		value, given := mine[key]
		inner, isMap := value.(map[string]any)
		switch {
		case !given && !slices.Equal(here, []string{"tables"}):
			mine[key] = d.take(base, here)
		case isMap && isMerged(here):
			d.merge(base, inner, here)
		}
	}
}

func isMerged(at []string) bool {
	return len(at) == 2 && at[0] == "metrics" || slices.Contains(merged, strings.Join(at, "/"))
}

// take copies a value of the base, with the order of its keys.
func (d *document) take(base *document, at []string) any {
	ptr := pointer(at...)
	d.note(at)
	for p := range base.places {
		if strings.HasPrefix(p, ptr+"/") {
			d.places[p] = place{}
		}
	}
	for p, keys := range base.keys {
		if p == ptr || strings.HasPrefix(p, ptr+"/") {
			d.keys[p] = slices.Clone(keys)
		}
	}
	return base.lookup(at)
}

// note makes a value that nobody wrote count as given.
func (d *document) note(at []string) {
	parent := pointer(at[:len(at)-1]...)
	d.places[pointer(at...)] = place{}
	d.keys[parent] = append(d.keys[parent], at[len(at)-1])
}

// set gives a mapping a value unless it has one.
func (d *document) set(m map[string]any, value any, at ...string) {
	key := at[len(at)-1]
	if _, given := m[key]; given {
		return
	}
	m[key] = value
	d.note(at)
}

// fillHubs names hubs and their people after the hub where nobody is named, and finds
// the hub that is the platform's.
func (d *document) fillHubs(root map[string]any) {
	hubs, _ := root["hubs"].(map[string]any)
	for id, h := range hubs {
		if hub, ok := h.(map[string]any); ok {
			d.set(hub, id, "hubs", id, "name")
			d.set(hub, id, "hubs", id, "team")
			d.set(hub, hub["team"], "hubs", id, "lead")
		}
	}
	const platform = "platform"
	if _, ok := hubs[platform]; ok {
		d.set(root, platform, "platform_hub")
	} else if ids := d.keysOf("hubs"); len(ids) > 0 {
		d.set(root, ids[0], "platform_hub")
	}
}

// lendTables adds the tables for orphans and for dead letters to a file that has none.
func (d *document) lendTables(base *document, root, tables map[string]any, wrote []string) {
	lend := func(name string) {
		if !slices.Contains(wrote, name) {
			table, _ := d.take(base, []string{"tables", name}).(map[string]any)
			tables[name] = maps.Clone(table) // its keys are filled in for each policy
		}
	}
	if _, given := root["orphan_table"]; !given {
		lend(baseOrphans)
		d.set(root, baseOrphans, "orphan_table")
	}
	if !slices.ContainsFunc(wrote, func(name string) bool {
		t, _ := tables[name].(map[string]any)
		return t["dead_letters"] == true
	}) {
		lend(baseDeadLetters)
	}
}

// fillTable makes a table that says nothing one whose errors are retried and then
// parked, and hold back the entity that they name.
func (d *document) fillTable(root, table map[string]any, name string) {
	set := func(key string, value any) { d.set(table, value, "tables", name, key) }
	allowed := []any{string(recoup.ActionRetry), string(recoup.ActionPark), string(recoup.ActionArchive)}
	set("ttl", "MEDIUM")
	switch {
	case d.lasts(root, table["ttl"]) == forever:
		allowed = []any{string(recoup.ActionIgnore)}
	case table["dead_letters"] == true:
		allowed = []any{string(recoup.ActionPark)}
	}
	set("hub", root["platform_hub"])
	set("layer", string(HubLayer))
	set("allowed", allowed)
	list, _ := table["allowed"].([]any)
	if len(list) > 0 {
		set("default", list[0])
	}
	if table["default"] == string(recoup.ActionPark) {
		set("park_reason", string(recoup.EscalationRequired))
	}
	blocks := table["entity_required"] != false && (slices.Contains(list, any("RETRY")) || slices.Contains(list, any("PARK")))
	set("blocks", blocks)
	if table["blocks"] == true {
		set("entity", defaultEntityColumn)
		set("because", "Its errors hold back what they name until they end")
	}
	set("because", "Its errors hold nothing back")
}

func (d *document) lasts(root map[string]any, tier any) any {
	tiers, _ := root["tiers"].(map[string]any)
	name, _ := tier.(string)
	t, _ := tiers[name].(map[string]any)
	return t["lasts"]
}
