package web

import (
	"bytes"
	"errors"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// The bounds of an import.
const (
	maxIntakes = 10000
	importBody = 16 << 20
	textCSV    = "text/csv"
)

type newIntakeIn struct {
	BatchID string `query:"batch_id" maxLength:"200" doc:"a batch that exists; default: it belongs to none"`
	Body    recoup.NewIntake
}

func createIntake(s *gatezero.Service, c *httpapi.Call, in *newIntakeIn) (recoup.IntakeCreated, error) {
	if err := checkIntake(s, c, in); err != nil {
		return recoup.IntakeCreated{}, err
	}
	candidate := candidateOf(in.Body)
	candidate.BatchID = in.BatchID
	found, created, err := s.Create(c.Context(), candidate)
	return recoup.IntakeCreated{Intake: found.Intake, Created: created}, err
}

func checkIntake(_ *gatezero.Service, _ *httpapi.Call, in *newIntakeIn) error {
	var bad fault.FieldErrors
	if in.Body.ImportKey != "" {
		bad.Addf("import_key", "unexpected", "a candidate that is sent alone is recognised by its intake_id")
	}
	candidate := candidateOf(in.Body)
	candidate.BatchID = in.BatchID
	bad.Merge(gatezero.Check(&candidate))
	return bad.Err()
}

func candidateOf(in recoup.NewIntake) recoup.Intake {
	return recoup.Intake{
		ID: in.ID, ImportKey: in.ImportKey, CompanyName: in.CompanyName, Domain: in.Domain, LinkedInURL: in.LinkedInURL, State: in.State,
	}
}

type importParams struct {
	BatchID   string `query:"batch_id" maxLength:"200" doc:"a batch that exists; without it they belong to none"`
	FirstLine int    `query:"first_line" minimum:"1" maximum:"1000000000" doc:"line of the file at which these rows begin, behind its header; refused rows are named by it"`
}

type importIn struct {
	importParams
	Body recoup.IntakeImport
}

// importIntakes takes many candidates as JSON, NDJSON or CSV. It reads its body
// itself, because there is more than one form of it.
func importIntakes() *httpapi.Route {
	form := httpapi.ShapeOf[recoup.IntakeImport]()
	take := func(s *gatezero.Service, c *httpapi.Call, in *importParams) (recoup.IntakesImported, error) {
		rows, ignored, err := readRows(c, form, in.FirstLine)
		if err != nil {
			return recoup.IntakesImported{}, err
		}
		return importRows(s, c, in.BatchID, rows, ignored)
	}
	return httpapi.OpForms[*gatezero.Service, importParams, importIn](http.MethodPost, "/v1/gate-zero/intakes/import", "Import candidates in bulk: JSON, NDJSON or CSV; rows succeed or fail independently", take, describeIntakes).
		MaxBody(importBody).Long()
}

// readImport reads candidates from JSON. If something is wrong with the form of it, it
// says as well what is wrong with the rest.
func readImport(c *httpapi.Call, form *httpapi.Shape, in *recoup.IntakeImport) error {
	var r httpapi.Reading
	if err := httpapi.Decode(c, form, in, &r); err != nil {
		return err
	}
	if r.Found.Len() > 0 && !r.Void && !r.Found.Full() {
		err := httpapi.CheckItems(c.Context(), "intakes", in.Intakes, nil, func(i *recoup.NewIntake) error {
			candidate := candidateOf(*i)
			return gatezero.Check(&candidate)
		})
		if errors.Is(err, turn.ErrUnfinished) {
			return err
		}
		r.Found.Merge(err)
	}
	return c.WithValues(r.Found.Err())
}

// readRows reads the body in the form that its media type names. Its rows begin at a
// line of a longer file; 0: it is the whole file.
func readRows(c *httpapi.Call, form *httpapi.Shape, first int) (rows []gatezero.Row, ignored []string, err error) {
	media, err := c.Media(slices.Concat(httpapi.MediaLines, []string{textCSV})...)
	if err != nil {
		return nil, nil, err
	}
	switch media {
	case fault.MediaJSON:
		var in recoup.IntakeImport
		if err := readImport(c, form, &in); err != nil {
			return nil, nil, err
		}
		for i := range in.Intakes {
			rows = append(rows, gatezero.Row{Line: max(first, 1) + i, Intake: candidateOf(in.Intakes[i])})
		}
	default:
		format := gatezero.NDJSON
		if media == textCSV {
			format = gatezero.CSV
		}
		file, err := gatezero.ReadRows(format, bytes.NewReader(c.Body))
		if err != nil {
			return nil, nil, err
		}
		if first > 0 {
			file.From(first)
		}
		err = turn.Each(c.Context(), 1, func(int) (err error) {
			rows, err = file.Take(maxIntakes + 1)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		ignored = file.Ignored()
	}
	if len(rows) == 0 || len(rows) > maxIntakes {
		return nil, nil, fault.BadField("intakes", "items", "an import must have between 1 and 10000 rows")
	}
	return rows, ignored, nil
}

func importRows(s *gatezero.Service, c *httpapi.Call, batch string, rows []gatezero.Row, ignored []string) (recoup.IntakesImported, error) {
	done, err := s.Import(c.Context(), batch, rows)
	if err != nil {
		return recoup.IntakesImported{}, err
	}
	return recoup.IntakesImported{
		Added: done.Added, Present: done.Present, NRefused: len(done.Refused),
		Refused: httpapi.Each(done.Refused, func(r gatezero.Row) recoup.RefusedRow {
			return recoup.RefusedRow{Line: r.Line, Failure: c.ItemFailure(r.Err)}
		}),
		Ignored: httpapi.PlainNames(ignored),
	}, nil
}

// describeIntakes documents the forms in which candidates come.
func describeIntakes(registry huma.Registry, list *huma.Schema) map[string]*huma.MediaType {
	one := *registry.Schema(reflect.TypeFor[recoup.NewIntake](), true, "")
	return map[string]*huma.MediaType{
		fault.MediaJSON:     {Schema: list},
		httpapi.MediaNDJSON: {Schema: &one},
		textCSV:             {Schema: &huma.Schema{Type: huma.TypeString}},
	}
}

type intakesIn struct {
	recoup.IntakeFilter
	httpapi.Page
}

func listIntakes(s *gatezero.Service, c *httpapi.Call, in *intakesIn) (recoup.IntakePage, error) {
	at, err := in.StorePage()
	if err != nil {
		return recoup.IntakePage{}, err
	}
	found, cursor, err := s.Intakes(c.Context(), in.IntakeFilter, at)
	return recoup.IntakePage{Intakes: httpapi.Listed(found), Next: httpapi.NextCursor(cursor)}, err
}

func showIntake(s *gatezero.Service, c *httpapi.Call, in *httpapi.IDParam) (recoup.IntakeStory, error) {
	story, err := s.Story(c.Context(), in.ID)
	return recoup.IntakeStory{Intake: story.Intake, Recovery: recoveryOf(story.Case, c.Now), Timeline: withInconclusive(story.Rows)}, err
}

// withInconclusive sets on events whether their reason is about the company.
func withInconclusive(events []recoup.IntakeEvent) []recoup.IntakeEvent {
	for i := range events {
		events[i].Inconclusive = gatezero.Inconclusive(events[i].Reason)
	}
	return httpapi.Listed(events)
}
