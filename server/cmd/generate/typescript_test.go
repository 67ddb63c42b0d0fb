package main

import (
	"os"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/slices"
)

// The types that are committed are those of the routes as they are.
func TestGeneratedTypesAreCurrent(t *testing.T) {
	t.Parallel()
	document, err := api.Document("", slices.Routes(slices.All())...)
	if err != nil {
		t.Fatal(err)
	}
	want, err := typeScript(document)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../clients/typescript/src/api_gen.ts")
	if err != nil || string(got) != string(want) {
		t.Errorf("the types of the TypeScript client are not those of the API (%v): run make generate", err)
	}
}

func TestTypeOf(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type": "string", "format": "date-time"}`:                                                                      "export type X = string;",
		`{"type": ["boolean", "null"]}`:                                                                                  "export type X = boolean | null;",
		`{"enum": ["a", "b"], "type": "string"}`:                                                                         `export type X = "a" | "b";`,
		`{"type": ["array", "null"], "items": {"$ref": "#/components/schemas/post-a_b"}}`:                                "export type X = Array<PostAB> | null;",
		`{"type": "object", "additionalProperties": {"type": "integer"}}`:                                                "export type X = Record<string, number>;",
		`{"type": "object", "additionalProperties": false}`:                                                              "export type X = Record<string, never>;",
		`{"allOf": [{"$ref": "#/components/schemas/Act"}, {"required": ["reason", "to"]}]}`:                              `export type X = Act & Required<Pick<Act, "reason" | "to">>;`,
		`{"oneOf": [{"type": "number"}, {"$ref": "#/components/schemas/Act"}]}`:                                          "export type X = number | Act;",
		`{"type": "object", "properties": {"x-y": {"type": "string"}, "a": {"description": "*/ }"}}, "required": ["a"]}`: "export interface X {\n  /** *\\/ } */\n  a: unknown;\n  \"x-y\"?: string;\n}",
	} {
		got, err := typeScript([]byte(`{"components": {"schemas": {"X": ` + schema + `}}}`))
		if err != nil || !strings.Contains(string(got), want+"\n") {
			t.Errorf("%s: %v\n%s", schema, err, got)
		}
	}
	for _, unknown := range []string{`{"anyOf": []}`, `{"const": 1}`, `{"type": "cube"}`, `{"type": "array"}`, `{"allOf": [{}, {}]}`} {
		if got, err := typeScript([]byte(`{"components": {"schemas": {"X": ` + unknown + `}}}`)); err == nil {
			t.Errorf("%s has become\n%s", unknown, got)
		}
	}
}

// A flag is refused: it was once taken as the name of the file to write.
func TestArguments(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{nil, {"--help"}, {"a.ts", "b.ts"}} {
		if err := run(args); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
