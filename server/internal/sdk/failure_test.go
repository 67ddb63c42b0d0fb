package sdk

import (
	"errors"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
)

// Spec 001, client integration: what a server refuses reaches a program as an error
// that knows its code, its details, its request and whether to try again.
func TestFailuresOfTheServer(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	_, err := n.Report(t.Context(), recoup.Report{Table: "outreach.dol_errors", EntityID: "CO-1", Code: "not a code"}, client.RequestID("req_mine"))
	var e *fault.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	if e.Code != fault.CodeValidationError || e.RequestID != "req_mine" || e.Retryable(true) {
		t.Errorf("got %s of %s, retryable %v", e.Code, e.RequestID, e.Retryable(true))
	}
	if f := e.Fields(); len(f) != 1 || f[0].Field != "code" || e.Message == "" || e.DocumentationURL == "" {
		t.Errorf("got %+v, %q, %q", f, e.Message, e.DocumentationURL)
	}
}
