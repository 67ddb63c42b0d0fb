package api_test

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/api"
)

// hostile is text that some program once believed.
func hostile() map[string]string {
	return map[string]string{
		"SQL":      `x'; drop table error; --`,
		"HTML":     `<img src=x onerror=alert(1)>`,
		"NUL":      "a\x00b",
		"control":  "a\r\nSet-Cookie: x=y\x1b[2J",
		"long":     strings.Repeat("ж", 10_000),
		"template": `{{.}} ${jndi:ldap://x} %s%n ../../etc/passwd`,
		"odd":      "\u202e\ufeff\U0010ffff\ufffd",
	}
}

// some is those of them that are tried: all, or with -short the worst.
func some(names ...string) map[string]string {
	texts := hostile()
	if testing.Short() {
		names = names[:1]
	}
	maps.DeleteFunc(texts, func(name, _ string) bool { return !slices.Contains(names, name) })
	return texts
}

// Whatever stands in whatever field of whatever endpoint is taken as text or is
// refused in the contract: nothing breaks, and what is refused is not stored.
func TestHostileFields(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		open  func(*testing.T) *world
		texts map[string]string
	}{
		"sqlite":   {func(t *testing.T) *world { return newWorld(t) }, some("HTML", "SQL", "NUL", "control", "long", "template", "odd")},
		"postgres": {newPostgresWorld, some("NUL", "SQL")}, // which it cannot hold, and which it would run
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := attacker{world: row.open(t), texts: row.texts}
			w, doc := a.world, a.openapi()
			tried, types := 0, map[string]bool{}
			for _, rt := range routeInfos() {
				w.wait(time.Second) // all routes together are more requests than a key may send in one
				op := follow(doc, "#/paths")[rt.Path].(object)[strings.ToLower(rt.Method)].(object)
				tried += a.parameters(rt, op)
				body, ok := op["requestBody"].(object)
				if !ok || types[fmt.Sprint(rt.In)] {
					continue
				}
				types[fmt.Sprint(rt.In)] = true
				schema := body["content"].(object)["application/json"].(object)["schema"].(object)
				tried += a.body(rt, doc, schema)
			}
			if tried < 150*len(row.texts) {
				t.Errorf("only %d were tried", tried)
			}
			w.get("/v1/errors").ok()
			w.report(dol, "CO-LAST")
		})
	}
}

// attacker sends hostile texts.
type attacker struct {
	*world
	texts map[string]string
	seen  string // the trace that was there last
}

// attack sends a request that may be taken or refused, and nothing else.
func (a *attacker) attack(what, method, path string, body any) {
	a.Helper()
	got := a.do("admin", method, path, body)
	before := a.seen
	a.seen = a.trace()
	switch {
	case got.Code >= 500:
		a.Errorf("%s %.200s with %s answers %d %s", method, path, what, got.Code, got.Body)
	case got.Code >= 400 && a.seen != before:
		a.Errorf("%s %.200s with %s was refused and left a trace", method, path, what)
	}
}

func (a *attacker) parameters(rt api.RouteInfo, op object) (tried int) {
	path, body := examples()[rt.Name()].make(a.world, dol)
	path, _, _ = strings.Cut(path, "?")
	a.seen = a.trace()
	for _, p := range list(op["parameters"]) {
		for what, text := range a.texts {
			switch p["in"] {
			case "query":
				a.attack(what, rt.Method, path+"?"+url.Values{p["name"].(string): {text}}.Encode(), body)
			case "path":
				a.attack(what, rt.Method, strings.Replace(rt.Path, "{"+p["name"].(string)+"}", url.PathEscape(text), 1), body)
			default:
				continue
			}
			tried++
		}
	}
	return tried
}

func (a *attacker) body(rt api.RouteInfo, doc, schema object) (tried int) {
	path, valid := examples()[rt.Name()].make(a.world, dol)
	a.seen = a.trace()
	var sample object
	decodeInto(a.T, mustJSON(valid), &sample)
	for what, text := range a.texts {
		for _, bad := range texts(doc, schema, sample, text) {
			a.attack(what+" as "+bad.name, rt.Method, path, bad.body)
			tried++
		}
	}
	return tried
}

// texts puts a text into each field of a body that takes one.
func texts(doc, schema, sample object, text string) []violation {
	schema = resolve(doc, schema)
	for _, form := range list(schema["oneOf"]) { // events: the first form is one event
		schema = resolve(doc, form)
		break
	}
	var all []violation
	properties, _ := schema["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		rule := resolve(doc, properties[name].(object))
		items, _ := rule["items"].(object)
		switch {
		case rule["type"] == "string" || slices.Contains(words(rule["type"]), "string"):
			all = append(all, violation{name, with1(sample, name, text)})
		case items != nil && resolve(doc, items)["type"] == "string":
			all = append(all, violation{name + "[0]", with1(sample, name, []any{text})})
		case items != nil && resolve(doc, items)["type"] == "object" && sample[name] != nil:
			for _, below := range texts(doc, items, sample[name].([]any)[0].(object), text) {
				all = append(all, violation{name + "[0]." + below.name, with1(sample, name, []any{below.body})})
			}
		case rule["properties"] != nil:
			inner, _ := sample[name].(object)
			if inner == nil {
				inner = object{}
			}
			for _, below := range texts(doc, rule, inner, text) {
				all = append(all, violation{name + "." + below.name, with1(sample, name, below.body)})
			}
		case rule["type"] == "object":
			all = append(all, violation{name + ".*", with1(sample, name, object{"field": text, text: "x"})})
		}
	}
	return all
}

func words(v any) []string {
	var out []string
	items, _ := v.([]any)
	for _, item := range items {
		out = append(out, fmt.Sprint(item))
	}
	return out
}
