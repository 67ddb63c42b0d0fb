package endtoend

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
)

// delivery is what a receiver got.
type delivery struct {
	path string
	work recoup.ClaimedWork
	gate recoup.GateZeroWork
}

// receive answers deliveries: work succeeds, and companies pass.
func receive(t *testing.T, secret string, got chan<- delivery) *httptest.Server {
	now := time.Now
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = client.VerifySignature(secret, r.Header.Get(client.SignatureHeader), body, now(), 0)
		}
		if err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		d := delivery{path: r.URL.Path}
		switch r.URL.Path {
		case "/work":
			err = json.Unmarshal(body, &d.work)
			w.WriteHeader(http.StatusNoContent)
		case "/verify":
			err = json.Unmarshal(body, &d.gate)
			_, _ = w.Write([]byte(`{"verdict":"PASS"}`))
		}
		if err != nil {
			t.Errorf("%s: %v", body, err)
		}
		got <- d
	}))
	t.Cleanup(hook.Close)
	return hook
}

// TestReceivers has a node deliver staged work and Gate Zero's verifications by
// signed request, and their answers are results (spec 002, 8.5; spec 004, 5).
func TestReceivers(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		const secret = "sixteen characters"
		got := make(chan delivery, 10)
		hook := receive(t, secret, got)
		s := newSite(t, d)
		s.env = []string{
			"RECOUP_RECEIVERS=render,verify", "RECOUP_RECEIVER_RENDER_PUBLIC_ONLY=false", "RECOUP_RECEIVER_VERIFY_PUBLIC_ONLY=false",
			"RECOUP_RECEIVER_RENDER_KIND=work", "RECOUP_RECEIVER_RENDER_URL=" + hook.URL + "/work", "RECOUP_RECEIVER_RENDER_SECRET=" + secret, "RECOUP_RECEIVER_RENDER_LANES=criticizer/fetch",
			"RECOUP_RECEIVER_VERIFY_KIND=gate_zero", "RECOUP_RECEIVER_VERIFY_URL=" + hook.URL + "/verify", "RECOUP_RECEIVER_VERIFY_SECRET=" + secret,
		}
		s.start()
		c, err := client.New(client.Options{Server: "http://" + *s.address.Load(), Key: s.key()})
		if err != nil {
			t.Fatal(err)
		}
		items, err := c.Work.Submit(t.Context(), []recoup.NewWorkItem{{Pipeline: "criticizer", Stage: "fetch", Payload: []byte("in")}})
		if err != nil || items[0].Result == nil {
			t.Fatal(err, items)
		}
		if first := <-got; first.path != "/work" || first.work.WorkID != items[0].Result.WorkID || string(first.work.Payload) != "in" {
			t.Errorf("delivered was %+v", first)
		}
		intake, err := c.GateZero.CreateIntake(t.Context(), "", recoup.NewIntake{CompanyName: "Acme"})
		if err != nil {
			t.Fatal(err)
		}
		if v := <-got; v.path != "/verify" || v.gate.Intake.ID != intake.Intake.ID {
			t.Errorf("delivered was %+v", v)
		}
		passed(t, c, intake.Intake.ID)
	})
}

// passed waits until a company has passed, and wants that to be all that happened
// to it.
func passed(t *testing.T, c *client.Client, id recoup.ID) {
	t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for {
		story, err := c.GateZero.Intake(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if len(story.Timeline) > 0 {
			if len(story.Timeline) != 1 || story.Timeline[0].Event != "AUTH" {
				t.Errorf("it has the history %+v", story.Timeline)
			}
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("it never passed")
		}
	}
}
