package api_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Every example of the document is an instance of the schema beside it: those of parameters, of
// bodies, of answers, and of members of objects.
func TestExamplesMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kinds := map[string]int{}
	hold := func(kind string, example any, pointer ...string) {
		kinds[kind]++
		text, err := json.Marshal(example)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.document.compile(t, pointer...).Validate(value); err != nil {
			t.Errorf("%s: the example %.200s is of another type: %v", strings.Join(pointer, " "), text, err)
		}
	}
	walkSteps(w.openapi(), nil, func(steps []string, o object) {
		if example, given := o["example"]; given && o["schema"] != nil {
			hold("of a parameter or a body", example, append(slices.Clone(steps), "schema")...)
		}
		for _, example := range listOf(o["examples"]) {
			hold("of a member", example, slices.Clone(steps)...)
		}
	})
	for _, kind := range []string{"of a parameter or a body", "of a member"} {
		if kinds[kind] < 10 {
			t.Errorf("the document has %d examples %s; the test no longer finds them", kinds[kind], kind)
		}
	}
}

// walkSteps visits every object of a document with the names that lead to it.
func walkSteps(v any, steps []string, visit func(steps []string, o object)) {
	switch v := v.(type) {
	case object:
		visit(steps, v)
		for name, member := range v {
			walkSteps(member, append(slices.Clone(steps), name), visit)
		}
	case []any:
		for i, item := range v {
			walkSteps(item, append(slices.Clone(steps), strconv.Itoa(i)), visit)
		}
	}
}

// The document says where its paths are: at the node that serves it.
func TestDocumentNamesItsServer(t *testing.T) {
	t.Parallel()
	servers := listOf(newWorld(t).openapi()["servers"])
	if len(servers) == 0 || servers[0].(object)["url"] != "/" || servers[0].(object)["description"] == nil {
		t.Errorf("the servers are %v, want the node itself at / with a description", servers)
	}
}
