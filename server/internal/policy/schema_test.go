package policy

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestSchemaAndFileAgree walks the schema and the types of file.go together: a
// key that only one of them knows would be accepted and ignored, or described
// and refused.
func TestSchemaAndFileAgree(t *testing.T) {
	s := loadSchema()
	root, _ := s.text.(map[string]any)
	walkSchema(t, s, "", root, reflect.TypeFor[file]())
}

func walkSchema(t *testing.T, s schema, at string, rule map[string]any, typ reflect.Type) {
	if ref, ok := rule["$ref"].(string); ok {
		rule = s.rule(ref)
	}
	if _, ok := rule["title"].(string); !ok {
		t.Errorf("%s has no title to end the sentence \"expected …\"", at)
	}
	properties, _ := rule["properties"].(map[string]any)
	switch typ.Kind() {
	case reflect.Struct:
		fields := map[string]reflect.Type{}
		for i := range typ.NumField() {
			fields[typ.Field(i).Tag.Get("json")] = typ.Field(i).Type
		}
		described, decoded := slices.Sorted(maps.Keys(properties)), slices.Sorted(maps.Keys(fields))
		if !slices.Equal(described, decoded) {
			t.Errorf("%s: the schema has %v, the file %v", at, described, decoded)
		}
		if rule["additionalProperties"] != false {
			t.Errorf("%s accepts unknown keys", at)
		}
		for name, field := range fields {
			child, _ := properties[name].(map[string]any)
			walkSchema(t, s, at+"/"+name, child, field)
		}
	case reflect.Map:
		for name, property := range properties {
			child, _ := property.(map[string]any)
			walkSchema(t, s, at+"/"+name, child, typ.Elem())
		}
		if child, ok := rule["additionalProperties"].(map[string]any); ok {
			walkSchema(t, s, at+"/*", child, typ.Elem())
		}
	case reflect.Slice:
		child, _ := rule["items"].(map[string]any)
		walkSchema(t, s, at+"/*", child, typ.Elem())
	}
}

// TestSchemaKnowsEveryWord compares the schema's lists with the constants.
func TestSchemaKnowsEveryWord(t *testing.T) {
	s := loadSchema()
	for at, want := range map[string][]string{
		"#/$defs/disposition/enum":                                                         spell(recoup.Actions()),
		"#/$defs/role/enum":                                                                spell([]Role{HubTeam, HubLead, PlatformTeam}),
		"#/$defs/table/properties/layer/enum":                                              spell([]Layer{HubLayer, GlobalLayer}),
		"#/$defs/schedule/properties/kind/enum":                                            spell([]retry.Kind{retry.None, retry.Exponential, retry.Linear, retry.Fixed}),
		"#/$defs/schedule/properties/jitter/enum":                                          spell([]retry.Jitter{retry.NoJitter, retry.Additive, retry.Full}),
		"#/$defs/alert/properties/per/enum":                                                spell([]Scope{PerPlatform, PerHub, PerService, PerProvider}),
		"#/$defs/alert/properties/severity/enum":                                           spell([]wire.AlertSeverity{wire.AlertWarning, wire.AlertHigh, wire.AlertCritical}),
		"#/$defs/alert/properties/action/enum":                                             spell([]wire.AlertAction{wire.NotifyHubTeam, wire.PageOnCall, wire.ReviewParkQueue, wire.EscalateToPlatform, wire.PagePlatformOnCall, wire.SlackAlert, wire.SwitchProvider}),
		"#/properties/ledger/properties/details/properties/keys/additionalProperties/enum": spell([]DetailType{DetailBool, DetailString, DetailInt, DetailUUID}),
		"#/$defs/codeDefinition/properties/class/enum":                                     spell(recoup.Classes()),
		"#/$defs/codeDefinition/properties/proven/enum":                                    spell([]recoup.Class{recoup.ClassImmediate, recoup.ClassShortDelay, recoup.ClassLongDelay}),
		"#/$defs/codeDefinition/properties/condition/enum":                                 spell([]recoup.Condition{recoup.ConditionIdempotencyKey, recoup.ConditionSamePayload, recoup.ConditionStateChanged}),
		"#/$defs/codeDefinition/properties/category/enum":                                  spell(recoup.Categories()),
		"#/$defs/codeDefinition/properties/severity/enum":                                  spell(recoup.Severities()),
		"#/$defs/codeDefinition/properties/domain/enum":                                    fault.Domains(),
		"#/$defs/codeDefinition/properties/group/enum":                                     fault.Groups(),
		"#/$defs/source/properties/at_end/enum":                                            spell([]wire.SourceEnd{wire.SourceKeep, wire.SourceMove, wire.SourceDelete}),
		"#/$defs/kind/enum":                                                                spell(wire.NoticeKinds()),
		"#/$defs/route/properties/from/enum":                                               spell(urgencies()),
	} {
		cut := strings.LastIndex(at, "/")
		list, _ := s.rule(at[:cut])[at[cut+1:]].([]any)
		if got := words(list); !slices.Equal(got, want) {
			t.Errorf("%s is %v, want %v", at, got, want)
		}
	}
	for at, want := range map[string][]string{
		"severities":       spell(recoup.Severities()),
		"retry/categories": spell(recoup.Categories()),
		"parking/reasons":  spell(recoup.ParkReasons()),
	} {
		if got := loadBase().keysOf(strings.Split(at, "/")...); !slices.Equal(got, want) {
			t.Errorf("the base has %v under %s, want %v", got, at, want)
		}
	}
	metrics, _ := s.rule("#/properties/metrics")["properties"].(map[string]any)
	for name := range metrics {
		if _, ok := kindOf(name); !ok {
			t.Errorf("nobody can measure %s", name)
		}
	}
	if len(metrics) != 12 {
		t.Errorf("%d metrics are described, want 12", len(metrics))
	}
}

func TestMeant(t *testing.T) {
	known := []string{"RETRY", "PARK", "ARCHIVE", "IGNORE"}
	for word, want := range map[string]string{
		"RERTY": "RETRY", "retry": "RETRY", "PARKED": "PARK", "ARCHVE": "ARCHIVE", "IGNORED": "IGNORE", "ARC": "ARCHIVE", "DELETE": "", "PARXY": "", "AR": "", "": "",
	} {
		if got := meant(word, known); got != want {
			t.Errorf("by %q is meant %q, want %q", word, got, want)
		}
	}
}
