package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// names are so many made-up names.
func names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("n%04d", i)
	}
	return list
}

// A query of thousands of parameters is refused as a whole, whoever sends it: none of its names is
// looked at.
func TestQueryOfManyNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, call := range [][2]string{{"", "/healthz"}, {"", "/readyz"}, {"reader", "/v1/errors"}, {"reader", "/v1/keys/self"}} {
		e := w.do(call[0], http.MethodGet, call[1]+"?"+strings.Join(names(4000), "&"), nil).failed(http.StatusBadRequest, fault.CodeValidationError)
		if f := e.Fields; len(f) != 1 || f[0].Field != "query" || f[0].Constraint != "max_items" {
			t.Errorf("%s: %d findings, %+v", call[1], len(f), f[0])
		}
	}
	e := w.do("reader", http.MethodGet, "/v1/errors?"+strings.Join(names(60), "&"), nil).failed(http.StatusBadRequest, fault.CodeValidationError)
	if !strings.Contains(e.Message, "60 invalid fields; the first 50") || len(e.Fields) != fault.MaxFieldErrors {
		t.Errorf("%d fields: %s", len(e.Fields), e.Message)
	}
}

// The items of a batch list fifty bad fields together. Beyond that each names the first, and counts
// the others.
func TestBatchOfManyNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const bad, fields = 20, 100
	item := `{"` + strings.Join(names(fields), `":1,"`) + `":1}`
	body := `{"reports":[` + strings.Repeat(item+",", bad) + fmt.Sprintf(`{"table":%q,"code":"NETWORK_TIMEOUT","entity_id":"CO-1"}]}`, dol)
	var out recoup.ReportedBatch
	w.do("ingest", http.MethodPost, "/v1/errors/batch", body).ok(&out)
	if len(out.Items) != bad+1 || out.Items[bad].Result == nil {
		t.Fatalf("got %d items", len(out.Items))
	}
	listed := 0
	for i, item := range out.Items[:bad] {
		found := len(fieldsOf(t, item.Failure))
		if found == 0 || !strings.Contains(string(item.Failure), fmt.Sprintf("%d invalid fields", fields)) {
			t.Errorf("item %d lists %d: %s", i, found, item.Failure)
		}
		listed += found
	}
	if listed > fault.MaxFieldErrors+bad {
		t.Errorf("the items list %d bad fields", listed)
	}
}
