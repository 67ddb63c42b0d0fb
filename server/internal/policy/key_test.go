package policy

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/fault"
)

// keyRow says what a key of the policy file does: where a policy has it, another value of it, and
// the file and the name by which the program acts on it. The value is refused where it contradicts
// another key.
type keyRow struct {
	at      string
	value   any
	used    string
	refused string
	shown   string // the test that shows it, where a node or a database is needed
}

// wholePolicy is the default policy with the keys that it leaves out.
func wholePolicy(t *testing.T) *document {
	t.Helper()
	doc, found := readDocument(defaultFile)
	if len(found) > 0 {
		t.Fatal(found)
	}
	for at, value := range map[string]any{
		"hubs/dol-filings/services": list("dol-sync"), "hubs/dol-filings/pipelines": list("filings"),
		"tables/outreach.dol_errors/source": map[string]any{"details": list("region"), "encrypted": list("email"), "at_end": "keep", "dead_letters": false},
		"codes": map[string]any{"CARD_DECLINED": map[string]any{
			"class": "conditional", "condition": "same_payload", "proven": "immediate", "category": "OPERATIONAL", "severity": "HIGH", "http_status": 402,
			"domain": "request", "group": "external_service", "page": false, "description": "The bank says no.", "causes": list("No money."),
			"resolution": list("Ask for another card."), "related": list("NETWORK_TIMEOUT"), "aliases": list("NO_MONEY"),
		}},
		"alerts/rules/0/for": "5m", "alerts/rules/0/repeat": "1h", "providers/email_validation/hub": "dol-filings",
		"notifications/default": []any{map[string]any{"channel": "chat", "from": "INFO", "kinds": list("PARKED")}},
		"notifications/teams":   map[string]any{"platform-team": []any{map[string]any{"channel": "pager", "from": "INFO", "kinds": list("PARKED", "ESCALATED")}}},
	} {
		put(t, doc.root, at, value)
	}
	return doc
}

func list(names ...string) (items []any) {
	for _, name := range names {
		items = append(items, name)
	}
	return items
}

// put sets a value of a document.
func put(t *testing.T, root any, at string, value any) {
	t.Helper()
	steps := strings.Split(at, "/")
	for i, step := range steps {
		switch in := root.(type) {
		case map[string]any:
			if i == len(steps)-1 {
				in[step] = value
				return
			}
			root = in[step]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n >= len(in) {
				t.Fatalf("%s: there is no item %s", at, step)
			}
			if i == len(steps)-1 {
				in[n] = value
				return
			}
			root = in[n]
		default:
			t.Fatalf("%s leads nowhere", at)
		}
	}
}

// compiled loads a document and writes down what the program sees of it.
func compiled(t *testing.T, doc *document) (string, error) {
	t.Helper()
	text, err := json.Marshal(doc.root)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Load("policy", text, fault.Default())
	if err != nil {
		return "", err
	}
	tables := map[string]any{}
	for _, table := range p.Tables() {
		tables[table.Name] = []any{table, table.Allowed(), table.owners, table.overrides}
	}
	seen, err := json.Marshal([]any{p, tables})
	if err != nil {
		t.Fatal(err)
	}
	return string(seen), nil
}

// anyName replaces what is a name in the path of a key.
var anyName = regexp.MustCompile(`^(metrics|severities|retry/categories|retry/floors|notifications/digests)/\w+`)

// leaves collects the keys of the schema that have a value of their own.
func leaves(s schema, rule map[string]any, at string, found map[string]bool) {
	if ref, ok := rule["$ref"].(string); ok {
		rule = s.rule(ref)
	}
	inner := map[string]any{}
	properties, _ := rule["properties"].(map[string]any)
	maps.Copy(inner, properties)
	if more, ok := rule["additionalProperties"].(map[string]any); ok {
		inner["*"] = more
	}
	if items, ok := rule["items"].(map[string]any); ok && len(properties) == 0 {
		if ref, _ := items["$ref"].(string); ref != "" && s.rule(ref)["properties"] != nil {
			inner["*"] = items
		}
	}
	if len(inner) == 0 {
		found[anyName.ReplaceAllString(at, "$1/*")] = true
	}
	for name, child := range inner {
		rule, _ := child.(map[string]any)
		leaves(s, rule, strings.TrimPrefix(at+"/"+name, "/"), found)
	}
}

// Every key of the policy file has a row that says what acts on it. Another value of the key makes
// another policy, or is refused.
func TestEveryKeyHasAnEffect(t *testing.T) {
	t.Parallel()
	s, found, rows := loadSchema(), map[string]bool{}, keyRows()
	root, _ := s.text.(map[string]any)
	leaves(s, root, "", found)
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if _, ok := rows[key]; !ok {
			t.Errorf("%s has no row: say what acts on it, or refuse it", key)
		}
	}
	before, err := compiled(t, wholePolicy(t))
	if err != nil {
		t.Fatal(err)
	}
	for key, row := range rows {
		if !found[key] {
			t.Errorf("%s is no key of the policy file", key)
		}
		doc := wholePolicy(t)
		put(t, doc.root, row.at, row.value)
		after, err := compiled(t, doc)
		var refused *LoadError
		switch {
		case row.refused != "":
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), row.refused) {
				t.Errorf("%s: %v is accepted, or refused with %v", key, row.value, err)
			}
		case err != nil:
			t.Errorf("%s: %v", key, err)
		case after == before:
			t.Errorf("%s: the policy is the same with %v", key, row.value)
		}
		isUsed(t, key, row.used)
	}
}

// isUsed wants a file that acts on what a key has become.
func isUsed(t *testing.T, key, used string) {
	t.Helper()
	file, name, _ := strings.Cut(used, " ")
	text, err := os.ReadFile(filepath.Join("..", "..", "..", file))
	if err != nil || !regexp.MustCompile(`\.`+name+`\b`).Match(text) {
		t.Errorf("%s: %s does not use .%s (%v)", key, file, name, err)
	}
}
