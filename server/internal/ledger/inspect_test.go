package ledger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// What a node has governed may come by the bus; what it would not have let pass may not,
// and is not repeated.
func TestInspect(t *testing.T) {
	t.Parallel()
	g, _ := newGovernor(t)
	const secret = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dcAbCdEf"
	for name, bad := range map[string]struct {
		change func(e *store.Event)
		field  string
	}{
		"nothing":                {func(*store.Event) {}, ""},
		"a day on the way":       {func(e *store.Event) { e.TS = epoch().Add(-retention - 24*time.Hour) }, ""},
		"a code nobody has":      {func(e *store.Event) { e.Code = "NOBODY_HAS_THIS" }, ""}, // which the store refuses
		"no id":                  {func(e *store.Event) { e.ID = recoup.ID{} }, "event_id"},
		"no correlation":         {func(e *store.Event) { e.CorrelationID = recoup.ID{} }, "event_id"},
		"no code":                {func(e *store.Event) { e.Code = "; drop table" }, "code"},
		"a secret as a code":     {func(e *store.Event) { e.ReportedCode = "AKIA" + "IOSFODNN7EXAMPLQ" }, "code"},
		"no service":             {func(e *store.Event) { e.Service = " " }, "service"},
		"a secret as a service":  {func(e *store.Event) { e.Service = secret }, "service"},
		"a control character":    {func(e *store.Event) { e.Region = "eu\x1b[2J" }, "region"},
		"a query":                {func(e *store.Event) { e.Endpoint = "GET /v1/x?key=1" }, "endpoint"},
		"a secret as a provider": {func(e *store.Event) { e.ExternalService = secret }, "external_service"},
		"a tenant in the clear":  {func(e *store.Event) { e.TenantHash = "acme" }, "tenant_hash"},
		"a hash without a key":   {func(e *store.Event) { e.TenantKey = "" }, "tenant_hash"},
		"a hash in upper case":   {func(e *store.Event) { e.TenantHash = strings.Repeat("A", 64) }, "tenant_hash"},
		"long ago":               {func(e *store.Event) { e.TS = epoch().Add(-retention - 30*24*time.Hour) }, "ts"},
		"the year 3000":          {func(e *store.Event) { e.TS = epoch().AddDate(974, 0, 0) }, "ts"},
		"a status":               {func(e *store.Event) { e.HTTPStatus = 600 }, "http_status"},
		"a secret in details":    {func(e *store.Event) { e.Details = map[string]any{"field": secret} }, "details"},
		"a message in details":   {func(e *store.Event) { e.Details = map[string]any{"message": "of acme"} }, "details"},
	} {
		events := govern(g, []ledger.Incoming{clean()}).Events
		bad.change(&events[0])
		err := g.Inspect(epoch(), events)
		switch {
		case bad.field == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case bad.field != "" && (err == nil || !strings.Contains(err.Error(), "event 1 of 1 was not governed: "+bad.field+": ")):
			t.Errorf("%s: %v", name, err)
		case err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "acme")):
			t.Errorf("%s: it repeats the event: %v", name, err)
		}
	}
}
