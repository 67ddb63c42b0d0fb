package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

const (
	joinedWords = "Write_to_John_Doe_about_his_diabetes"
	wholeHash   = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	shortHash   = "9f86d081884c7d65"
)

// Spec 002, 8.4: the context of a dead letter has truncated hashes. Whole ones are cut, and words
// under the name of a hash are dropped; as the hash of the payload they are refused.
func TestHashesOfDeadLetters(t *testing.T) {
	onBothStores(t, func(w *world) {
		for sent, want := range map[string]string{joinedWords: "", wholeHash: shortHash, shortHash: shortHash} {
			in := w.breakdown(w.pipeline(""))
			in.PayloadHash = wholeHash
			for _, key := range []string{"prompt_hash", "body_hash", "payload_hash"} {
				in.Context[key] = sent
			}
			var made recoup.DeadLetter
			w.post("/v1/dead-letters", in).ok(&made)
			var all recoup.DeadLetterDetails
			w.get("/v1/dead-letters/" + made.ErrorID.String()).ok(&all)
			if all.PayloadHash != shortHash {
				w.Errorf("the payload's hash is kept as %q, want %s", all.PayloadHash, shortHash)
			}
			var kept map[string]any
			if err := json.Unmarshal([]byte(all.Rounds[0].Context), &kept); err != nil {
				w.Fatal(err)
			}
			for _, key := range []string{"prompt_hash", "body_hash", "payload_hash"} {
				if got, _ := kept[key].(string); got != want {
					w.Errorf("the %s %q is kept as %q, want %q", key, sent, got, want)
				}
			}
		}
		numeric := w.breakdown(w.pipeline(""))
		numeric.PayloadHash = "1234567890123456" // as one hash in 2,000
		var made recoup.DeadLetter
		if w.post("/v1/dead-letters", numeric).ok(&made); made.PayloadHash != "" {
			w.Errorf("a hash that could be a number is kept as %q", made.PayloadHash)
		}
		in := w.breakdown(w.pipeline(""))
		in.PayloadHash = joinedWords
		w.post("/v1/dead-letters", in).invalid("payload_hash", "pattern")
	})
}

// Spec 003, governance: expected_etag is a short hash value, existing_id a uuid. Words are dropped and
// counted, whole hashes are cut, a ULID becomes the uuid that it is.
func TestHashesAndIDsOfEvents(t *testing.T) {
	onBothStores(t, func(w *world) {
		for service, details := range map[string]object{
			"words": {"expected_etag": joinedWords},
			"whole": {"expected_etag": `W/"` + wholeHash + `"`},
			"ulid":  {"existing_id": "01JAH8ZJ0Z8Z0N7M1X6JZ8QW0T"},
		} {
			w.post("/v1/events", object{"code": "conflict", "service": service, "details": details}, "Prefer", "respond-sync").ok()
		}
		kept := func(service, key string) any {
			var page recoup.EventPage
			if w.get("/v1/events?service=" + service).ok(&page); len(page.Events) != 1 {
				w.Fatalf("there are %d events of %s", len(page.Events), service)
			}
			return page.Events[0].Details[key]
		}
		if got := kept("words", "expected_etag"); got != nil {
			w.Errorf("words are kept as an entity tag: %v", got)
		}
		if got := kept("whole", "expected_etag"); got != `W/"`+shortHash+`"` {
			w.Errorf("a whole hash is kept as %v", got)
		}
		if got := kept("ulid", "existing_id"); got != "0192a28f-c81f-47c1-53d0-3d34be8bf01a" {
			w.Errorf("a ULID is kept as %v", got)
		}
		w.drops(w.T, map[string]int64{"details_wrong_type": 1})
	})
}

// An identifier that matches the pattern of a secret is refused, also where a card's number is
// written in one piece.
func TestCardNumbersIdentifyNothing(t *testing.T) {
	onBothStores(t, func(w *world) {
		const card = "4242424242424242"
		for _, row := range []struct {
			path, field string
			body        object
		}{
			{"/v1/errors", "entity_id", object{"table": dol, "entity_id": card, "code": "NETWORK_TIMEOUT"}},
			{"/v1/errors", "endpoint", object{"table": dol, "entity_id": "CO-1", "code": "NETWORK_TIMEOUT", "endpoint": card}},
			{"/v1/errors", "region", object{"table": dol, "entity_id": "CO-1", "code": "NETWORK_TIMEOUT", "region": card}},
			{"/v1/retries/claim", "worker", object{"worker": card}},
			{"/v1/promotions", "entity_id", object{"entity_id": card, "phase": "outreach"}},
		} {
			w.post(row.path, row.body).invalid(row.field, "no_secret")
		}
		for _, field := range []string{"endpoint", "service", "region"} {
			event := object{"code": "NETWORK_TIMEOUT", "service": "api"}
			event[field] = "/cards/" + card
			refused := w.post("/v1/events", event).failed(http.StatusBadRequest, fault.CodeValidationError)
			if len(refused.Fields) != 1 || refused.Fields[0].Field != field || refused.Fields[0].Constraint != "no_secret" {
				w.Errorf("%s: %+v", field, refused.Fields)
			}
		}
	})
}
