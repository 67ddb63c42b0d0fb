package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// flaw is what is wrong with the meaning of a request: members that are set to
// something, or that are left out (nil), and the field that the answer names. The
// request is an example's, unless the flaw has a query of its own.
type flaw struct {
	set   object
	field string
	path  func(string) string // changes the address
	shape string              // the field of the wrong shape; empty: a member or parameter that there is not
}

const secretText = "Bearer abcdefghijklmnop0123456789ABCDEF"

// flaws has one for every route that writes. Those that have nothing to say beyond the
// shape of a request are in flawless, with why.
func flaws() map[string]flaw {
	list := map[string]flaw{
		"POST /v1/errors":            {set: object{"code": "no code"}, field: "code"},
		"POST /v1/errors/batch":      {set: object{"reports": []object{{"table": dol, "entity_id": "CO-1", "code": "no code"}}}, field: "reports[0].code"},
		"POST /v1/errors/import":     {set: object{"columns": object{"nonsense": "x"}}, field: "columns"},
		"POST /v1/retries/claim":     {set: object{"worker": " w"}, field: "worker"},
		"POST /v1/retries/results":   {set: object{"results": []object{{"error_id": flawID, "lease_token": flawID, "outcome": "fail", "code": "no code"}}}, field: "results[0].code"},
		"POST /v1/promotions":        {set: object{"phase": " p"}, field: "phase"},
		"POST /v1/processed":         {set: object{"counts": []object{{"count": 1}}}, field: "counts[0].table"},
		"POST /v1/events":            {set: object{"code": "b d", "ts": "x"}, field: "code", shape: "ts"},
		"PUT /v1/codes/{code}":       {set: object{"origin": ""}, field: "origin"},
		"POST /v1/classify":          {set: object{"provider": "nobody"}, field: "provider"},
		"POST /v1/policy/plan":       {set: object{"text": "version: x"}, field: "text"},
		"PUT /v1/policy":             {set: object{"text": "version: x"}, field: "text"},
		"POST /v1/keys":              {set: object{"hubs": []string{"nobody"}}, field: "hubs[0]"},
		"POST /v1/views":             {set: object{"tokens": []string{"state:NONE"}}, field: "tokens[0]"},
		"PUT /v1/views/{id}":         {set: object{"name": secretText}, field: "name"},
		"POST /v1/silences":          {set: object{"rule": "none"}, field: "rule"},
		"POST /v1/gate-zero/claim":   {set: object{"worker": " w"}, field: "worker"},
		"POST /v1/work":              {set: object{"work": []object{{"pipeline": " p", "stage": "fetch"}}}, field: "work[0].pipeline"},
		"POST /v1/work/claim":        {set: object{"worker": " w"}, field: "worker"},
		"POST /v1/work/results":      {set: object{"results": []object{{"work_id": flawID, "lease_token": flawID, "outcome": "fail"}}}, field: "results[0].failure"},
		"POST /v1/work/{id}/fail":    {set: object{"failure": object{"stage": " s"}}, field: "failure.stage"},
		"POST /v1/pauses":            {set: object{"until": epoch}, field: "until"},
		"DELETE /v1/pauses":          {field: "pipeline", path: func(string) string { return "/v1/pauses?pipeline=+p" }},
		"POST /v1/dead-letters":      {set: object{"error_class": "no class"}, field: "error_class"},
		"POST /v1/replays/preview":   {set: object{"stage": " s"}, field: "stage"},
		"POST /v1/replays":           {set: object{"reason": ""}, field: "reason"},
		"POST /v1/operations":        {set: object{"input": object{"to": " o"}}, field: "to"},
		"POST /v1/retries/{id}/fail": {set: object{"code": "no code"}, field: "code"},

		"POST /v1/providers/{group}/switch":          {set: object{"to": "nobody"}, field: "to"},
		"POST /v1/gate-zero/batches":                 {set: object{"batch_id": " b"}, field: "batch_id"},
		"POST /v1/gate-zero/intakes":                 {set: object{"domain": "not a domain"}, field: "domain"},
		"POST /v1/gate-zero/intakes/import":          {set: object{"intakes": []object{{"company_name": "A", "domain": "not a domain"}}}, field: "intakes[0].domain"},
		"POST /v1/gate-zero/results":                 {set: object{"results": []object{{"intake_id": flawID, "verdict": "FAIL", "reason": "NONE"}}}, field: "results[0].reason"},
		"PUT /v1/work/{id}/checkpoints/{stage}":      {field: "stage", path: func(p string) string { return strings.Replace(p, "/fetch", "/a%20b", 1) }},
		"POST /v1/dead-letters/{id}/triage":          {set: object{"stage": "other"}, field: "stage"},
		"POST /v1/dead-letters/{id}/remediate":       {set: object{"corrected": nil}, field: "corrected"},
		"POST /v1/dead-letters/{id}/validate":        {set: object{"duplicate_safe": nil}, field: "idempotent"},
		"POST /v1/dead-letters/{id}/replay":          {set: object{"from_start": " s"}, field: "from_start"},
		"POST /v1/dead-letters/{id}/verify":          {set: object{"note": " "}, field: "note"},
		"POST /v1/errors/{id}/source/decrypt":        {set: object{"reason": " "}, field: "reason"},
		"POST /v1/dead-letters/{id}/payload":         {set: object{"reason": " "}, field: "reason"},
		"POST /v1/dead-letter-groups/{id}/note":      {set: object{"owner": " o"}, field: "owner"},
		"POST /v1/error-groups/{id}/note":            {set: object{"owner": " o"}, field: "owner"},
		"POST /v1/dead-letter-groups/{id}/triage":    {set: object{"stage": "other"}, field: "stage"},
		"POST /v1/dead-letter-groups/{id}/remediate": {set: object{"link": "javascript:x"}, field: "link"},
		"POST /v1/dead-letter-groups/{id}/validate":  {set: object{"duplicate_safe": nil}, field: "idempotent"},
		"POST /v1/operations/{id}/confirm":           {set: object{"to": " o"}, field: "to"},
		"POST /v1/dead-letter-groups/{id}/verify":    {set: object{"note": " "}, field: "note"},
	}
	for _, pattern := range []string{
		"POST /v1/keys/{id}/revoke", "POST /v1/keys/{id}/rotate", "POST /v1/payload-keys/rotate", "POST /v1/payload-keys/wrap", "POST /v1/tenant-keys/rotate",
		"POST /v1/tenant-keys/{key_id}/delete", "POST /v1/jobs/{name}/run", "POST /v1/bus/quarantine/retry", "POST /v1/bus/quarantine/drop", "POST /v1/notices/resend", "POST /v1/gate-zero/batches/{batch_id}/complete",
		"POST /cl/gate-zero/kill-switch", "DELETE /cl/gate-zero/kill-switch",
	} {
		list[pattern] = flaw{set: object{"reason": "\x00"}, field: "reason"}
	}
	for _, act := range []string{"pause", "resume", "cancel"} {
		list["POST /v1/replays/{id}/"+act] = flaw{set: object{"reason": " "}, field: "reason"}
		list["POST /v1/operations/{id}/"+act] = flaw{set: object{"reason": " "}, field: "reason"}
	}
	for _, outcome := range []string{"retries/{id}/succeed", "retries/{id}/extend", "work/{id}/succeed", "work/{id}/extend", "work/{id}/release"} {
		list["POST /v1/"+outcome] = flaw{set: object{"lease_token": nil}, field: "lease_token"}
	}
	for _, verb := range []string{"park", "unpark", "resolve", "escalate", "archive", "review", "assign"} {
		bad := flaw{set: object{"reason": "\x00"}, field: "reason"}
		list["POST /v1/errors/{id}/"+verb] = bad
		list["POST /v1/errors/"+verb] = bad
	}
	return list
}

const flawID = "019c1d94-8a80-7000-9a83-b105619023d7"

// flawless are routes that have nothing to say of a request but its shape.
var flawless = map[string]string{
	"DELETE /v1/silences/{id}":      "it takes an id alone",
	"DELETE /v1/views/{id}":         "it takes an id alone",
	"POST /v1/channels/{name}/test": "it takes the name of a channel alone, and one that is not there is NOT_FOUND",
	"POST /v1/work/{id}/progress":   "it takes a lease_token alone: an id, or none; one that is not the lease's is LEASE_LOST",
	"POST /v1/work/{id}/forget":     "it takes a lease_token alone: an id, or none; one that is not the lease's is LEASE_LOST",
}

// Whatever a route that writes has to say of a request comes in one answer: what is
// wrong with its shape, and what is wrong with its meaning (spec 001, Validation Errors).
func TestEveryWriteListsEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withPipelines()
	list, of := examples(), flaws()
	for _, pattern := range slices.Sorted(maps.Keys(list)) {
		method, _, _ := strings.Cut(pattern, " ")
		bad, ok := of[pattern]
		if method == http.MethodGet || flawless[pattern] != "" {
			continue
		}
		if !ok {
			t.Errorf("%s has no flaw, and is not among the flawless", pattern)
			continue
		}
		t.Run(pattern, func(t *testing.T) {
			w := w.in(t)
			path, body := list[pattern].make(w, dol)
			path, members := bad.of(w, path, body)
			answer := w.do("admin", method, path, members)
			fields := map[string]bool{}
			for _, f := range answer.failed(http.StatusBadRequest, fault.CodeValidationError).Fields {
				fields[f.Field] = true
			}
			shape := bad.shape
			if shape == "" {
				shape = "zzz"
			}
			if !fields[shape] || !fields[bad.field] {
				t.Errorf("of %s and %s the answer lists %v", shape, bad.field, slices.Sorted(maps.Keys(fields)))
			}
		})
	}
}

// of is a request that is wrong in its meaning and in its shape.
func (f flaw) of(w *world, path string, body any) (string, any) {
	w.Helper()
	if f.path != nil {
		path = f.path(path)
	}
	members := object{}
	if body == nil {
		if f.set == nil {
			return path + "&zzz=1", nil
		}
	} else if err := json.Unmarshal(mustJSON(body), &members); err != nil {
		w.Fatal(err)
	}
	for name, value := range f.set {
		if members[name] = value; value == nil {
			delete(members, name)
		}
	}
	if f.shape == "" {
		members["zzz"] = 1
	}
	return path, members
}

// A query parameter that a route does not have is refused, with the one that was
// probably meant, and never ignored.
func TestUnknownParametersAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := examples()
	for _, pattern := range slices.Sorted(maps.Keys(list)) {
		method, _, _ := strings.Cut(pattern, " ")
		path, body := list[pattern].make(w, dol)
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		found := false
		for _, f := range w.do("admin", method, path+sep+"parkd=", body).failed(http.StatusBadRequest, fault.CodeValidationError).Fields {
			found = found || f.Field == "parkd" && f.Constraint == "unknown"
		}
		if !found {
			t.Errorf("%s takes the parameter parkd", pattern)
		}
	}
}

// The items of a batch that are refused say what was sent, and where the code is
// explained, as a whole request does; so does a line.
func TestRefusedItemsAreWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := `{"service":"s","code":"NETWORK_TIMEOUT"}`
	var out recoup.EventsAccepted
	w.post("/v1/events", good+"\n\n"+`{"service":" s","code":"NETWORK_TIMEOUT","http_status":7}`+"\n"+good, "Content-Type", "application/x-ndjson").ok(&out)
	if out.Accepted != 2 || len(out.Refused) != 1 || out.Refused[0].Index != 1 {
		t.Fatalf("answered %+v", out)
	}
	var e fault.Error
	if err := json.Unmarshal(out.Refused[0].Failure, &e); err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	for _, f := range e.Fields() {
		values[f.Field] = f.Value
	}
	if values["service"] != " s" || values["http_status"] != 7.0 || e.DocumentationURL != "http://example.com/errors/VALIDATION_ERROR" {
		t.Errorf("a line is refused with %s", out.Refused[0].Failure)
	}
}

// The answer to an empty bulk act lists all that it lacks.
func TestEmptyBulkActListsEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.post("/v1/errors/park", "{}").failed(http.StatusBadRequest, fault.CodeValidationError)
	if len(e.Fields) != 2 || e.Fields[0].Field != "ids" && e.Fields[1].Field != "ids" {
		t.Errorf("answered %+v", e.Fields)
	}
}
