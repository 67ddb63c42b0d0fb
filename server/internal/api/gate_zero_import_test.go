package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// A candidate with an id of its own is taken in once, and another under the same
// id is refused.
func TestIntakeCreatedOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		own := recoup.NewIntake{ID: recoup.ID{7: 1}, CompanyName: "Acme", Domain: "HTTPS://Www.Acme.Example/about", State: "OH"}
		var first, again recoup.IntakeCreated
		w.post("/v1/gate-zero/intakes", own).ok(&first)
		w.post("/v1/gate-zero/intakes", own).ok(&again)
		if !first.Created || again.Created || again.Intake != first.Intake || first.Intake.Domain != "www.acme.example" || first.Intake.Status != "PENDING" {
			t.Errorf("created is %+v, then %+v", first, again)
		}
		own.State = "NY"
		w.post("/v1/gate-zero/intakes", own).failed(http.StatusConflict, fault.CodeConflict)
		w.post("/v1/gate-zero/intakes?batch_id=none", recoup.NewIntake{CompanyName: "Acme"}).failed(http.StatusNotFound, fault.CodeNotFound)
		w.post("/v1/gate-zero/intakes", recoup.NewIntake{CompanyName: "Acme", ImportKey: "7"}).invalid("import_key", "unexpected")
		w.post("/v1/gate-zero/intakes", recoup.NewIntake{}).invalid("company_name", "required")
		w.post("/v1/gate-zero/intakes", recoup.NewIntake{CompanyName: "Acme", Domain: "not a domain"}).invalid("domain", "format")
		w.post("/v1/gate-zero/batches", recoup.NewIntakeBatch{}).invalid("batch_id", "required")
	})
}

// Each row of an import is answered for itself, with its line, in every form that
// it may come in.
func TestIntakeImport(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		for media, body := range map[string]string{
			"text/csv":             "Company,website,size\nAcme,acme.example,9\n,x.example,1\n\"Tick, Trick\n& Track\",,2\nBad,no domain,3\n",
			"application/x-ndjson": `{"company_name":"Acme","domain":"acme.example"}` + "\n\n" + `{"domain":"x.example"}` + "\n" + `{"company_name":"Tick, Trick & Track"}` + "\nnonsense\n" + `{"company":"Acme"}`,
			"application/json":     `{"intakes":[{"company_name":"Acme","domain":"acme.example"},{"company_name":""},{"company_name":"Tick, Trick & Track"},{"company_name":"Bad","domain":"-"}]}`,
		} {
			want := map[string][]int{"text/csv": {3, 4, 6}, "application/x-ndjson": {3, 5, 6}, "application/json": {2, 4}}[media]
			added := map[string]int{"text/csv": 1}[media]
			if added == 0 {
				added = 2
			}
			batch := w.batch()
			at := "/v1/gate-zero/intakes/import?batch_id=" + batch
			var first, again recoup.IntakesImported
			w.post(at, body, "Content-Type", media).ok(&first)
			w.post(at, body, "Content-Type", media).ok(&again)
			if first.Added != added || first.Present != 0 || again.Added != 0 || again.Present != added || again.NRefused != len(want) {
				t.Errorf("%s: imported is %+v, then %+v", media, first, again)
			}
			var lines []int
			for _, r := range first.Refused {
				var said fault.Error
				w.must(json.Unmarshal(r.Failure, &said))
				if lines = append(lines, r.Line); said.Code != fault.CodeValidationError || len(said.Fields()) == 0 {
					t.Errorf("%s: line %d is refused with %v", media, r.Line, &said)
				}
			}
			if !slices.Equal(lines, want) || media == "text/csv" != slices.Equal(first.Ignored, []string{"size"}) {
				t.Errorf("%s: refused are lines %v, want %v; ignored %v", media, lines, want, first.Ignored)
			}
			var page recoup.IntakePage
			w.get("/v1/gate-zero/intakes?status=PENDING&batch_id=" + batch).ok(&page)
			if len(page.Intakes) != added {
				t.Errorf("%s: listed are %+v", media, page)
			}
		}
	})
}

// A file that comes in pieces is answered with the lines that it has as a whole.
func TestIntakeImportInPieces(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		at := "/v1/gate-zero/intakes/import?batch_id=" + w.batch()
		for body, want := range map[string]string{
			"text/csv;name,domain\nAcme,acme.example\n\n,x.example\n":     "+1 1203",
			"application/x-ndjson;\n{\"company_name\":\"B\"}\nnonsense\n": "+1 1203",
			`application/json;{"intakes":[{"company_name":"C"},{}]}`:      "+1 1202",
		} {
			media, text, _ := strings.Cut(body, ";")
			var done recoup.IntakesImported
			w.post(at+"&first_line=1201", text, "Content-Type", media).ok(&done)
			if got := fmt.Sprintf("+%d %d", done.Added, done.Refused[0].Line); got != want || done.NRefused != 1 {
				t.Errorf("%s: %s, want %s: %+v", media, got, want, done)
			}
		}
		w.post(at+"&first_line=0", "name\nA\n", "Content-Type", "text/csv").invalid("first_line", "range")
		w.post(at+"&first_line=x", "name\nA\n", "Content-Type", "text/csv").invalid("first_line", "format")
	})
}

func TestIntakeImportRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const at = "/v1/gate-zero/intakes/import"
	w.post(at, "name,domain\n", "Content-Type", "text/csv").invalid("intakes", "items")
	w.post(at, "domain\nx.example\n", "Content-Type", "text/csv").invalid("header", "columns")
	w.post(at, "name,company\nA,B\n", "Content-Type", "text/csv").invalid("header", "columns")
	w.post(at, "", "Content-Type", "application/x-ndjson").invalid("intakes", "items")
	w.post(at, "x", "Content-Type", "text/plain").failed(http.StatusUnsupportedMediaType, fault.CodeUnsupportedContentType)
	w.post(at+"?batch_id=none", `{"intakes":[{"company_name":"A"}]}`).failed(http.StatusNotFound, fault.CodeNotFound)
	many := strings.Repeat(`{"company_name":"A"}`+"\n", 10001)
	w.post(at, many, "Content-Type", "application/x-ndjson").invalid("intakes", "items")
}

// What looks like a secret is not kept, and not repeated.
func TestIntakeSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const secret = "AKIAIOSFODNN7EXAMPLE"
	var made recoup.IntakeCreated
	w.post("/v1/gate-zero/intakes", recoup.NewIntake{CompanyName: "Acme " + secret}).ok(&made)
	if strings.Contains(made.Intake.CompanyName, secret) {
		t.Errorf("kept is %q", made.Intake.CompanyName)
	}
	for _, bad := range []recoup.NewIntake{{CompanyName: "A", State: secret}, {CompanyName: "A", LinkedInURL: "https://x.example/?token=" + secret}} {
		if got := w.post("/v1/gate-zero/intakes", bad); got.Code != http.StatusBadRequest || strings.Contains(got.Body.String(), secret) {
			t.Errorf("answered with %d %s", got.Code, got.Body)
		}
	}
	got := w.post("/v1/gate-zero/batches", recoup.NewIntakeBatch{ID: secret})
	if got.Code != http.StatusBadRequest || strings.Contains(got.Body.String(), secret) {
		t.Errorf("answered with %d %s", got.Code, got.Body)
	}
}

// Lists have cursors.
func TestGateZeroPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := map[string]bool{}
	for range 5 {
		want[w.batch()] = true
		w.intake("")
	}
	next, seen := "", 0
	for {
		var page recoup.IntakeBatchPage
		w.get(fmt.Sprint("/v1/gate-zero/batches?limit=2&cursor=", next)).ok(&page)
		for _, b := range page.Batches {
			if seen++; !want[b.ID] {
				t.Errorf("%s is listed", b.ID)
			}
		}
		if next = page.Next; next == "" {
			break
		}
	}
	if seen != len(want) {
		t.Errorf("%d batches are listed", seen)
	}
	for next, seen = "", 0; ; {
		var page recoup.IntakePage
		w.get(fmt.Sprint("/v1/gate-zero/intakes?limit=2&cursor=", next)).ok(&page)
		seen += len(page.Intakes)
		if next = page.Next; next == "" {
			break
		}
	}
	if seen != 5 {
		t.Errorf("%d intakes are listed", seen)
	}
	for _, list := range []string{"batches", "intakes", "recoveries"} {
		w.get("/v1/gate-zero/"+list+"?cursor=nonsense").invalid("cursor", "format")
	}
	w.get("/v1/gate-zero/intakes?status=LOST").invalid("status", "enum")
}
