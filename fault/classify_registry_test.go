package fault_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

// ownRegistry has a fatal and a retryable code of a program's own.
func ownRegistry(t *testing.T) *fault.Registry {
	t.Helper()
	own := fault.Definition{
		Code: "PAYMENT_DECLINED", Domain: "data", Class: recoup.ClassFatal, Category: recoup.Structural, Severity: recoup.Medium,
		HTTPStatus: 422, Origin: "own", Description: "d", Causes: []string{"c"}, Resolution: []string{"r"},
	}
	slow := own
	slow.Code, slow.Class, slow.Category, slow.Aliases = "PRINTER_WARMING_UP", recoup.ClassShortDelay, recoup.Transient, []recoup.Code{"WARMING"}
	write := slow
	write.Code, write.Repeat, write.Aliases = "PRINT_LOST", fault.ScopeIdempotentOnly, nil
	reg, err := fault.Default().With(own, slow, write)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// A registry classifies by what it knows; what nobody knows is not repeated.
func TestClassifyByARegistry(t *testing.T) {
	const fatal, short = recoup.ClassFatal, recoup.ClassShortDelay
	reg := ownRegistry(t)
	for _, row := range []struct {
		given    recoup.Code
		own, def recoup.Class
		code     recoup.Code // in the registry that knows it
	}{
		{"PAYMENT_DECLINED", fatal, fatal, "PAYMENT_DECLINED"},
		{"PRINTER_WARMING_UP", short, fatal, "PRINTER_WARMING_UP"},
		{"warming", short, fatal, "PRINTER_WARMING_UP"},
		{"temporary_unavailable", short, short, "TEMPORARY_UNAVAILABLE"},
		{"NEVER_HEARD_OF", fatal, fatal, "NEVER_HEARD_OF"},
		{"UNREGISTERED_CODE", fatal, fatal, "UNREGISTERED_CODE"},
		{"not a code", fatal, fatal, "not a code"},
	} {
		err := fmt.Errorf("call: %w", fault.New(row.given, "no"))
		if v := reg.Classify(err); v.Class != row.own || v.Code != row.code {
			t.Errorf("%s, by the own registry = %+v", row.given, v)
		}
		if v := fault.Classify(err); v.Class != row.def {
			t.Errorf("%s, by the default registry = %+v", row.given, v)
		}
	}
	if v := reg.Classify(fault.New("PRINT_LOST", "")); v.Retryable(fault.NotIdempotent()) || !v.Retryable() {
		t.Errorf("a code of its own that may have had its effect = %+v", v)
	}
	if v := reg.Classify(nil); v.Code != "" {
		t.Errorf("Classify(nil) = %+v", v)
	}
}

// A registry that lacks a code of the classifier's still gets the code's meaning.
func TestClassifyByASmallRegistry(t *testing.T) {
	small, err := fault.Load([]byte(minimalRegistry))
	if err != nil {
		t.Fatal(err)
	}
	if v := small.Classify(sqlError("40001")); v.Code != fault.CodeTransactionConflict || v.Class != recoup.ClassImmediate {
		t.Errorf("%+v", v)
	}
}

const minimalRegistry = `[
	{"code":"UNREGISTERED_CODE","domain":"runtime","class":"short_delay","category":"OPERATIONAL","severity":"MEDIUM","http_status":500,"origin":"x","description":"d","causes":["c"],"resolution":["r"]},
	{"code":"INTERNAL_ERROR","domain":"runtime","class":"short_delay","category":"TRANSIENT","severity":"MEDIUM","http_status":500,"origin":"x","description":"d","causes":["c"],"resolution":["r"]}
]`

// An error that came with its definition keeps it, whoever classifies.
func TestClassifyKeepsTheDefinitionOfADecodedError(t *testing.T) {
	body := `{"error_code":"PRINTER_WARMING_UP"}`
	e := ownRegistry(t).Decode(&http.Response{StatusCode: 422, Header: http.Header{}, Body: reader(body)})
	if v := fault.Classify(e); v.Code != "PRINTER_WARMING_UP" || v.Class != recoup.ClassShortDelay {
		t.Errorf("%+v", v)
	}
}

func TestClassifierOfARegistryDrivesRetry(t *testing.T) {
	reg := ownRegistry(t)
	for code, want := range map[recoup.Code]int{"PAYMENT_DECLINED": 1, "NEVER_HEARD_OF": 1, "PRINTER_WARMING_UP": 4} {
		options := retry.NewOptions(reg.Policy, reg.Classifier(recoup.ConditionIdempotencyKey))
		options.Sleep = func(context.Context, time.Duration) error { return nil }
		attempts := 0
		err := retry.Do(t.Context(), options, func(context.Context) error { attempts++; return fault.New(code, "no") })
		if attempts != want || err == nil {
			t.Errorf("%s: %d attempts, %v; want %d", code, attempts, err, want)
		}
	}
}

func TestResponsesAndProvidersOfARegistry(t *testing.T) {
	reg := ownRegistry(t)
	body := []byte(`{"error_code":"payment_declined"}`)
	if v := reg.ClassifyResponse(503, nil, body, noon); v.Code != "PAYMENT_DECLINED" || v.Class != recoup.ClassFatal {
		t.Errorf("answer = %+v", v)
	}
	data := []byte(`[{"name":"bank","rules":[{"words":["declined"],"code":"PAYMENT_DECLINED"}]}]`)
	if _, err := fault.LoadProviders(data); err == nil {
		t.Error("the default registry took a rule with a code that it does not know")
	}
	providers, err := reg.LoadProviders(data)
	if err != nil {
		t.Fatal(err)
	}
	bank, _ := providers.Lookup("bank")
	if v := bank.ClassifyResponse(503, nil, []byte(`{"error":"declined"}`), noon, nil); v.Code != "PAYMENT_DECLINED" || v.Class != recoup.ClassFatal {
		t.Errorf("word = %+v", v)
	}
	if v := bank.Classify(fault.New("PRINTER_WARMING_UP", ""), nil); v.Class != recoup.ClassShortDelay {
		t.Errorf("error = %+v", v)
	}
	byHand := &fault.Provider{Name: "x"}
	if v := byHand.Classify(errors.New("?"), nil); v.Code != fault.CodeInternalError {
		t.Errorf("a provider made by hand = %+v", v)
	}
}
