package fault

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
)

var update = flag.Bool("update", false, "rewrite golden files")

// The rows are those of spec 001, Error Classification.
func TestClassesOfSpec001(t *testing.T) {
	for class, codes := range map[recoup.Class][]recoup.Code{
		recoup.ClassImmediate:  {"NETWORK_TIMEOUT", "CONNECTION_RESET"},
		recoup.ClassShortDelay: {"DATABASE_CONNECTION_ERROR", "EXTERNAL_SERVICE_TIMEOUT", "TEMPORARY_UNAVAILABLE"},
		recoup.ClassLongDelay:  {"RATE_LIMIT_EXCEEDED", "QUOTA_EXCEEDED", "SERVICE_OVERLOADED"},
		recoup.ClassFatal: {
			"INVALID_API_KEY", "API_KEY_EXPIRED", "INSUFFICIENT_PERMISSIONS",
			"VALIDATION_ERROR", "MALFORMED_JSON", "UNSUPPORTED_CONTENT_TYPE",
			"COMPANY_NOT_FOUND", "DUPLICATE_RECORD", "BUSINESS_RULE_VIOLATION",
		},
		recoup.ClassConditional: {"SLOT_CONFLICT", "VALIDATION_QUEUE_FULL", "IDEMPOTENCY_CONFLICT"},
	} {
		for _, code := range codes {
			if d := mustLookup(t, code); d.Class != class {
				t.Errorf("%s is %s, want %s", code, d.Class, class)
			}
		}
	}
}

func TestConditionsOfSpec001(t *testing.T) {
	for code, condition := range map[recoup.Code]recoup.Condition{
		"SLOT_CONFLICT":         recoup.ConditionStateChanged,
		"VALIDATION_QUEUE_FULL": recoup.ConditionStateChanged,
		"IDEMPOTENCY_CONFLICT":  recoup.ConditionSamePayload,
	} {
		d := mustLookup(t, code)
		if d.Condition != condition {
			t.Errorf("%s hangs on %q, want %q", code, d.Condition, condition)
		}
		if d.Retryable(false) || !d.Retryable(true) {
			t.Errorf("%s: retryable unproven %t, proven %t; want false, true", code, d.Retryable(false), d.Retryable(true))
		}
	}
}

// The rows are the nine of spec 002, 8.1, each with a code for every example.
func TestFailureCategoriesOfSpec002(t *testing.T) {
	for _, row := range []struct {
		category  string
		codes     []recoup.Code
		retryable bool // for idempotent work
	}{
		{"network", []recoup.Code{"DNS_TIMEOUT", "NETWORK_TIMEOUT", "CONNECTION_RESET", "TEMPORARY_UNAVAILABLE"}, true},
		{"rate limiting", []recoup.Code{"RATE_LIMIT_EXCEEDED", "QUOTA_EXCEEDED"}, true},
		{"upstream", []recoup.Code{"INTERNAL_ERROR", "UPSTREAM_ERROR"}, true},
		{"conflicts", []recoup.Code{"DUPLICATE_WRITE", "VERSION_CONFLICT"}, true},
		{"validation", []recoup.Code{"MISSING_REQUIRED_FIELD", "MALFORMED_JSON", "SCHEMA_INVALID"}, false},
		{"auth", []recoup.Code{"INVALID_API_KEY", "TOKEN_EXPIRED", "AUTH_DENIED"}, false},
		{"not found", []recoup.Code{"ARTIFACT_NOT_FOUND", "DESTINATION_GONE"}, false},
		{"content", []recoup.Code{"CONTENT_REJECTED"}, false},
		{"bug", []recoup.Code{"RUNTIME_BUG", "CONFIGURATION_ERROR"}, false},
	} {
		for _, code := range row.codes {
			d := mustLookup(t, code)
			if d.Retryable(true) != row.retryable {
				t.Errorf("%s: %s: retryable is %t, want %t", row.category, code, !row.retryable, row.retryable)
			}
			if pages := row.category == "bug"; d.Page != pages {
				t.Errorf("%s: %s: pages an operator: %t, want %t", row.category, code, d.Page, pages)
			}
		}
	}
}

// The rows are the reason codes of spec 004, 6.
func TestReasonCodesOfSpec004(t *testing.T) {
	for code, category := range map[recoup.Code]recoup.Category{
		"DOMAIN_NOT_FOUND": recoup.Operational, "DOMAIN_NO_IMPRINT": recoup.Operational,
		"NO_LINKEDIN_COMPANY": recoup.Operational, "STATE_MISMATCH": recoup.Operational,
		"STATE_AMBIGUOUS": recoup.Operational, "STATE_MISSING": recoup.Operational,
		"API_UNAVAILABLE": recoup.Transient, "TIMEOUT": recoup.Transient,
	} {
		d := mustLookup(t, code)
		if d.Category != category || !d.Retryable(false) {
			t.Errorf("%s is %s and retryable %t, want %s and true", code, d.Category, d.Retryable(false), category)
		}
	}
}

// Every class, status and so on is pinned, so that no code disappears and none
// changes its treatment unnoticed.
func TestClassesGolden(t *testing.T) {
	var b strings.Builder
	for _, d := range Default().All() {
		fmt.Fprintf(&b, "%s %s %s %s %s %s %s %d\n", d.Code, d.Class, dash(d.Condition), dash(d.Proven), dash(d.Repeat), d.Category, d.Severity, d.HTTPStatus)
	}
	const file = "testdata/classes.golden"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Collect(strings.Lines(b.String()))
	for line := range strings.Lines(string(want)) {
		if i := slices.Index(got, line); i >= 0 {
			got = slices.Delete(got, i, i+1)
			continue
		}
		t.Errorf("gone or changed: %s", line)
	}
	for _, line := range got {
		t.Errorf("new or changed:  %s", line)
	}
	if t.Failed() {
		t.Log("programs rely on these. If the change is meant, accept it: go test ./fault -run TestClassesGolden -update")
	}
}

func dash[S ~string](s S) string {
	if s == "" {
		return "-"
	}
	return string(s)
}

func TestDefaultIsDocumented(t *testing.T) {
	for _, d := range Default().All() {
		if d.Origin == "" || len(d.Related) == 0 || d.Example == nil {
			t.Errorf("%s lacks origin, related codes or an example", d.Code)
			continue
		}
		if want := "/errors/" + string(d.Code); d.Example.DocumentationURL != want {
			t.Errorf("%s: the example links to %q, want %q", d.Code, d.Example.DocumentationURL, want)
		}
		if !wellFormedRequestID(d.Example.RequestID) {
			t.Errorf("%s: the example has the request id %q", d.Code, d.Example.RequestID)
		}
	}
}

// The rows are those of spec 001, Retry Configuration by Error Type.
func TestRetryRowsOfSpec001(t *testing.T) {
	for code, want := range map[recoup.Code]RetryPolicy{
		"NETWORK_TIMEOUT":           {MaxAttempts: 5, BaseDelayMS: 100, MaxDelayMS: 5000, BackoffMultiplier: 1.5, RespectRetryAfter: true},
		"DATABASE_CONNECTION_ERROR": {MaxAttempts: 3, BaseDelayMS: 1000, MaxDelayMS: 60000, BackoffMultiplier: 2, RespectRetryAfter: true},
		"RATE_LIMIT_EXCEEDED":       {MaxAttempts: 3, BaseDelayMS: 60000, MaxDelayMS: 900000, BackoffMultiplier: 2, RespectRetryAfter: true},
		"VALIDATION_ERROR":          {Fatal: true},
		"CONNECTION_RESET":          {MaxAttempts: 3, BaseDelayMS: 1000, MaxDelayMS: 300000, BackoffMultiplier: 2, RespectRetryAfter: true},
		"COMPANY_NOT_FOUND":         {Fatal: true},
	} {
		if got := mustLookup(t, code).RetryPolicy(false); got != want {
			t.Errorf("%s: %+v, want %+v", code, got, want)
		}
	}
}

// Package retry knows the same rows by heart; the two must not drift apart.
func TestPolicyAgreesWithPackageRetry(t *testing.T) {
	for _, d := range Default().All() {
		if !d.Retryable(true) {
			continue
		}
		got, want := Default().Policy(d.Code), retry.Request(d.Code)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, want %+v", d.Code, got, want)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", d.Code, err)
		}
	}
	if got := Default().Policy(CodeValidationError); got.MaxRetries != 0 || got.Schedule.Kind != retry.None {
		t.Errorf("a fatal code is retried: %+v", got)
	}
}

func TestFold(t *testing.T) {
	for _, row := range []struct {
		in   string
		name recoup.Code
		def  recoup.Code
	}{
		{"RATE_LIMIT_EXCEEDED", "RATE_LIMIT_EXCEEDED", "RATE_LIMIT_EXCEEDED"},
		{"rate_limit_exceeded", "RATE_LIMIT_EXCEEDED", "RATE_LIMIT_EXCEEDED"},
		{"internal_error", "INTERNAL_ERROR", "INTERNAL_ERROR"},
		{"validation_failed", "VALIDATION_ERROR", "VALIDATION_ERROR"},
		{"rate_limited", "RATE_LIMIT_EXCEEDED", "RATE_LIMIT_EXCEEDED"},
		{"Already_Exists", "DUPLICATE_RECORD", "DUPLICATE_RECORD"},
		{"stale_read", "STALE_READ", "STALE_READ"},
		{"conflict", "CONFLICT", "CONFLICT"},
		{"my_own_code", "MY_OWN_CODE", "UNREGISTERED_CODE"},
	} {
		def, name, err := Default().Fold(row.in)
		if err != nil || name != row.name || def.Code != row.def {
			t.Errorf("Fold(%q) = %v, %s, %v; want %s, %s", row.in, def, name, err, row.def, row.name)
		}
	}
	for _, in := range []string{"", "with space", "1ST", "_X", "ÄRGER", strings.Repeat("A", 65)} {
		if _, _, err := Default().Fold(in); err == nil {
			t.Errorf("Fold(%q) accepts what cannot be a code", in)
		}
	}
}

func TestUnregisteredCode(t *testing.T) {
	d := mustLookup(t, CodeUnregisteredCode)
	if d.Category != recoup.Operational || d.Severity != recoup.Medium || d.Class != recoup.ClassShortDelay {
		t.Errorf("an unknown code is %s, %s, %s", d.Category, d.Severity, d.Class)
	}
}

func TestWith(t *testing.T) {
	own := *mustLookup(t, CodeTimeout)
	own.Code, own.Example = "PRINTER_ON_FIRE", nil
	reg, err := Default().With(own)
	if err != nil {
		t.Fatal(err)
	}
	if def, name, _ := reg.Fold("printer_on_fire"); def.Code != "PRINTER_ON_FIRE" || name != def.Code {
		t.Errorf("got %s, %s", def.Code, name)
	}
	if _, ok := Default().Lookup("PRINTER_ON_FIRE"); ok {
		t.Error("the default registry was changed")
	}
	if !slices.IsSortedFunc(reg.All(), func(a, b *Definition) int { return strings.Compare(string(a.Code), string(b.Code)) }) {
		t.Error("All is not sorted")
	}
	if _, err := reg.With(own); err == nil {
		t.Error("a code could be registered twice")
	}
}

// A registry shares nothing with those who made it.
func TestRegistryIsPrivate(t *testing.T) {
	def := Definition{
		Code: "PRINTER_ON_FIRE", Domain: "runtime", Class: recoup.ClassShortDelay, Category: recoup.Transient,
		Severity: recoup.Medium, HTTPStatus: 500, Description: "It burns.",
		Causes: []string{"cause"}, Resolution: []string{"way out"},
		Related: []recoup.Code{CodeTimeout}, Aliases: []recoup.Code{"FIRE"},
		Retry:   &RetryPolicy{MaxAttempts: 1, BaseDelayMS: 1, MaxDelayMS: 1},
		Example: &Error{Code: "PRINTER_ON_FIRE", Message: "m", RequestID: "req_1", Details: map[string]any{"room": 7}},
	}
	reg, err := Default().With(def)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := reg.Lookup(def.Code)
	before, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	second, err := reg.With()
	if err != nil {
		t.Fatal(err)
	}
	copied, _ := second.Lookup(def.Code)
	for _, d := range []*Definition{&def, copied} {
		d.Causes[0], d.Resolution[0], d.Related[0], d.Aliases[0] = "mutated", "mutated", "MUTATED", "MUTATED"
		d.Retry.MaxAttempts, d.Example.Message, d.Example.Details["room"] = 9, "mutated", 9
	}
	if after, err := json.Marshal(first); err != nil || string(after) != string(before) {
		t.Errorf("%v\nbefore %s\nafter  %s", err, before, after)
	}
}

func TestLoadRefuses(t *testing.T) {
	fatal := func(d *Definition) { d.Class, d.Retry, d.Repeat = recoup.ClassFatal, nil, "" }
	for name, row := range map[string]struct {
		change func(*Definition)
		want   string
	}{
		"lower case":           {func(d *Definition) { d.Code = "lower" }, "upper case"},
		"malformed":            {func(d *Definition) { d.Code = "NO GOOD" }, "character ' '"},
		"domain":               {func(d *Definition) { d.Domain = "sea" }, `unknown domain "sea"`},
		"group":                {func(d *Definition) { d.Group = "band" }, `unknown group "band"`},
		"class":                {func(d *Definition) { d.Class = "first" }, `unknown class "first"`},
		"category":             {func(d *Definition) { d.Category = "ODD" }, `unknown category "ODD"`},
		"severity":             {func(d *Definition) { d.Severity = "" }, `unknown severity ""`},
		"status":               {func(d *Definition) { d.HTTPStatus = 200 }, "http_status 200"},
		"structural retryable": {func(d *Definition) { d.Category = recoup.Structural }, "never retried"},
		"stray condition":      {func(d *Definition) { d.Condition = recoup.ConditionSamePayload }, "belong to conditional codes"},
		"odd repeat":           {func(d *Definition) { d.Repeat = "twice" }, `unknown repeat "twice"`},
		"repeat of fatal":      {func(d *Definition) { fatal(d); d.Repeat = ScopeTransaction }, "belongs to codes that are retried"},
		"no condition":         {func(d *Definition) { d.Class, d.Proven = recoup.ClassConditional, recoup.ClassImmediate }, "needs a condition"},
		"odd condition": {func(d *Definition) {
			d.Class, d.Condition, d.Proven = recoup.ClassConditional, "weather", recoup.ClassImmediate
		}, `unknown condition "weather"`},
		"no proven": {func(d *Definition) { d.Class, d.Condition = recoup.ClassConditional, recoup.ConditionSamePayload }, "once proven"},
		"fatal retry row": {func(d *Definition) {
			fatal(d)
			d.Retry = &RetryPolicy{MaxAttempts: 1, BaseDelayMS: 1, MaxDelayMS: 1}
		}, "fatal is false"},
		"fatal with delay": {func(d *Definition) { fatal(d); d.Retry = &RetryPolicy{Fatal: true, BaseDelayMS: 1} }, "no attempts and no delays"},
		"no attempts":      {func(d *Definition) { d.Retry = &RetryPolicy{BaseDelayMS: 1, MaxDelayMS: 1} }, "at least 1"},
		"cap below base":   {func(d *Definition) { d.Retry = &RetryPolicy{MaxAttempts: 1, BaseDelayMS: 2, MaxDelayMS: 1} }, "the largest last"},
		"shrinking": {func(d *Definition) {
			d.Retry = &RetryPolicy{MaxAttempts: 1, BaseDelayMS: 1, MaxDelayMS: 1, BackoffMultiplier: 0.5}
		}, "must not shrink"},
		"no description":        {func(d *Definition) { d.Description = " " }, "description is empty"},
		"no causes":             {func(d *Definition) { d.Causes = nil }, "causes is empty"},
		"empty resolution":      {func(d *Definition) { d.Resolution = []string{""} }, "resolution is empty"},
		"foreign example":       {func(d *Definition) { d.Example = New("OTHER", "x") }, "the example has another code"},
		"example without id":    {func(d *Definition) { d.Example = New(d.Code, "x") }, "message or request_id"},
		"example of fatal":      {func(d *Definition) { fatal(d); d.Example.RetryAfter = time.Second }, "never retried"},
		"related unknown":       {func(d *Definition) { d.Related = []recoup.Code{"NOBODY"} }, "NOBODY is not registered"},
		"related alias":         {func(d *Definition) { d.Related = []recoup.Code{"RATE_LIMITED"} }, "write RATE_LIMIT_EXCEEDED"},
		"related itself":        {func(d *Definition) { d.Related = []recoup.Code{"PRINTER_ON_FIRE"} }, "not related to itself"},
		"taken code":            {func(d *Definition) { d.Code, d.Example = "TIMEOUT", nil }, "already taken by TIMEOUT"},
		"taken alias":           {func(d *Definition) { d.Aliases = []recoup.Code{"RATE_LIMITED"} }, "already taken by RATE_LIMIT_EXCEEDED"},
		"alias twice":           {func(d *Definition) { d.Aliases = []recoup.Code{"FIRE", "FIRE"} }, "FIRE is already taken"},
		"lower case alias name": {func(d *Definition) { d.Aliases = []recoup.Code{"fire"} }, "upper case"},
	} {
		t.Run(name, func(t *testing.T) {
			var d Definition
			data, err := json.Marshal(mustLookup(t, CodeTimeout))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &d); err != nil {
				t.Fatal(err)
			}
			d.Code, d.Example.Code, d.Related = "PRINTER_ON_FIRE", "PRINTER_ON_FIRE", nil
			if _, err := Default().With(d); err != nil {
				t.Fatalf("the row is wrong before it is changed: %v", err)
			}
			row.change(&d)
			if _, err := Default().With(d); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want something about %q", err, row.want)
			}
		})
	}
}

func TestLoadRefusesText(t *testing.T) {
	for in, want := range map[string]string{
		``:                               "EOF",
		`{}`:                             "cannot unmarshal",
		`[{"colour": "red"}]`:            `unknown field "colour"`,
		`[] []`:                          "something follows",
		`[]`:                             "UNREGISTERED_CODE is missing",
		`[{"code": "TIMEOUT"}]`:          "unknown class",
		`[{"code": "A"}, {"code": "A"}]`: "already taken by A",
	} {
		if _, err := Load([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Load(%s) = %v, want something about %q", in, err, want)
		}
	}
}

// A registry survives being written and read.
func TestLoadRoundTrip(t *testing.T) {
	data, err := json.Marshal(Default().All())
	if err != nil {
		t.Fatal(err)
	}
	reg, err := Load(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(reg.All())
	if err != nil || string(again) != string(data) {
		t.Errorf("the registry changed on its way: %v", err)
	}
}

func TestLookupAllocatesNothing(t *testing.T) {
	reg := Default()
	if n := testing.AllocsPerRun(100, func() {
		reg.Lookup("RATE_LIMITED")
		_, _, _ = reg.Fold("RATE_LIMITED")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzFold(f *testing.F) {
	for _, s := range []string{"RATE_LIMITED", "rate_limit_exceeded", "x", "", "ä", "A_1", "1A", strings.Repeat("z", 64)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		def, name, err := Default().Fold(s)
		if err != nil {
			if def != nil || name != "" {
				t.Fatalf("Fold(%q) fails and answers", s)
			}
			return
		}
		again, same, err := Default().Fold(string(name))
		if err != nil || again != def || same != name {
			t.Fatalf("Fold(%q) = %s, which folds to %s, %v", s, name, same, err)
		}
		if def.Code != name && def.Code != CodeUnregisteredCode {
			t.Fatalf("Fold(%q) = %s with the definition of %s", s, name, def.Code)
		}
	})
}

func BenchmarkLookup(b *testing.B) {
	reg := Default()
	b.ReportAllocs()
	for b.Loop() {
		reg.Lookup("RATE_LIMIT_EXCEEDED")
	}
}

func BenchmarkFold(b *testing.B) {
	reg := Default()
	for _, s := range []string{"RATE_LIMIT_EXCEEDED", "rate_limit_exceeded"} {
		b.Run(s, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _, _ = reg.Fold(s)
			}
		})
	}
}

func mustLookup(t *testing.T, code recoup.Code) *Definition {
	t.Helper()
	d, ok := Default().Lookup(code)
	if !ok {
		t.Fatalf("%s is not registered", code)
	}
	return d
}
