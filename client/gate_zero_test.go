package client_test

import (
	"context"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
)

// Every method of Gate Zero asks for exactly what the API documents.
func TestGateZeroRequests(t *testing.T) {
	t.Parallel()
	const at = "/v1/gate-zero"
	const one = "00000000-0000-0000-0000-000000000001"
	page := client.Page{Cursor: "c", Limit: 5}
	work := recoup.GateZeroWork{Intake: recoup.Intake{ID: id(1)}, RecoveryID: id(2), LeaseToken: id(3)}
	type ctx = context.Context
	for want, call := range map[string]func(*client.Client, ctx) (any, error){
		`POST ` + at + `/intakes?batch_id=b {"company_name":"Acme"}`: func(c *client.Client, x ctx) (any, error) {
			return c.GateZero.CreateIntake(x, "b", recoup.NewIntake{CompanyName: "Acme"})
		},
		`POST ` + at + `/intakes/import?batch_id=b {"company_name":"A"}` + "\n" + `{"import_key":"7","company_name":"B"}` + "\n": func(c *client.Client, x ctx) (any, error) {
			return c.GateZero.ImportIntakes(x, "b", []recoup.NewIntake{{CompanyName: "A"}, {CompanyName: "B", ImportKey: "7"}})
		},
		`POST ` + at + `/intakes/import?batch_id=b&first_line=12 name` + "\nA\n": func(c *client.Client, x ctx) (any, error) {
			return c.GateZero.ImportFile(x, "b", client.IntakeLines{Media: "text/csv", FirstLine: 12, Data: []byte("name\nA\n")})
		},
		`GET ` + at + `/intakes?batch_id=b&cursor=c&limit=5&status=PENDING`: func(c *client.Client, x ctx) (any, error) {
			return c.GateZero.Intakes(x, recoup.IntakeFilter{BatchID: "b", Status: "PENDING"}, page)
		},
		`GET ` + at + `/intakes/` + one:            func(c *client.Client, x ctx) (any, error) { return c.GateZero.Intake(x, id(1)) },
		`POST ` + at + `/batches {"batch_id":"b"}`: func(c *client.Client, x ctx) (any, error) { return c.GateZero.CreateBatch(x, "b") },
		`POST ` + at + `/batches/b%2F1/complete {}`: func(c *client.Client, x ctx) (any, error) {
			return c.GateZero.CompleteBatch(x, "b/1", recoup.IntakeBatchAct{})
		},
		`GET ` + at + `/batches?cursor=c&limit=5`: func(c *client.Client, x ctx) (any, error) { return c.GateZero.Batches(x, page) },
		`GET ` + at + `/batches/b%2F1`:            func(c *client.Client, x ctx) (any, error) { return c.GateZero.Batch(x, "b/1") },
		`GET /cl/gate-zero/kill-switch?batch_id=b+1`: func(c *client.Client, x ctx) (any, error) {
			return c.GateZero.KillSwitch(x, "b 1")
		},
		`POST /cl/gate-zero/kill-switch?batch_id=b {"reason":"why"}`: func(c *client.Client, x ctx) (any, error) {
			return c.GateZero.Kill(x, "b", recoup.IntakeBatchAct{Reason: "why"})
		},
		`DELETE /cl/gate-zero/kill-switch?batch_id=b {}`: func(c *client.Client, x ctx) (any, error) {
			return c.GateZero.Release(x, "b", recoup.IntakeBatchAct{})
		},
		`GET ` + at + `/recoveries?batch_id=b&cursor=c&limit=5&list=EXHAUSTED`: func(c *client.Client, x ctx) (any, error) {
			return c.GateZero.Recoveries(x, recoup.RecoveryFilter{List: recoup.ExhaustedRecoveries, BatchID: "b"}, page)
		},
		`GET ` + at + `/recoveries?limit=1000`: func(c *client.Client, x ctx) (any, error) {
			return count(c.GateZero.AllRecoveries(x, recoup.RecoveryFilter{})), nil
		},
		`GET ` + at + `/recoveries/` + one: func(c *client.Client, x ctx) (any, error) { return c.GateZero.Recovery(x, id(1)) },
		`GET ` + at + `/status`:            func(c *client.Client, x ctx) (any, error) { return c.GateZero.Status(x) },
		`POST ` + at + `/claim {"worker":"w","limit":5,"what":"intakes"}`: func(c *client.Client, x ctx) (any, error) {
			return c.GateZero.Claim(x, recoup.GateZeroClaim{Worker: "w", Limit: 5, What: recoup.ClaimIntakes})
		},
		`POST ` + at + `/results {"results":[{"intake_id":"` + one + `","recovery_id":"00000000-0000-0000-0000-000000000002","lease_token":"00000000-0000-0000-0000-000000000003","verdict":"FAIL","reason":"TIMEOUT"}]}`: func(c *client.Client, x ctx) (any, error) {
			return c.GateZero.Results(x, []recoup.GateZeroResult{work.Result(recoup.VerdictFail, "TIMEOUT")})
		},
	} {
		s := serve(t, reply(`{"items":[{}]}`))
		if _, err := call(s.client(t), t.Context()); err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		got := s.all()[0]
		if text := strings.TrimSuffix(got.method+" "+got.target+" "+got.body, " "); text != want {
			t.Errorf("got  %s\nwant %s", text, want)
		}
	}
}
