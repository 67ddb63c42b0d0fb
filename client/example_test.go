package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
)

// standIn stands in for a Recoup server, with one error that waits to be retried
// and blocks its company. `recoup serve` is the real one.
func standIn() *httptest.Server {
	const failure = `{"error_id":"0190f5fe-7c00-7a3b-8c4d-112233445566","table":"outreach.dol_errors","entity_id":"CO-20260205-000001",` +
		`"code":"NETWORK_TIMEOUT","state":"RETRY_PENDING","blocking":true`
	open, leased := false, false
	answer := map[string]func() string{
		"POST /v1/errors": func() string { return `{"error":` + failure + `}}` },
		"GET /v1/promotion/{entity}": func() string {
			if open {
				return `{"entity_id":"CO-20260205-000001","blocked":false}`
			}
			return `{"entity_id":"CO-20260205-000001","blocked":true,"blockers":[{"code":"NETWORK_TIMEOUT","owner":"system"}]}`
		},
		"POST /v1/retries/claim": func() string {
			if leased {
				return `{"errors":[]}`
			}
			leased = true
			return `{"errors":[` + failure + `,"lease_token":"0190f5fe-7c00-7a3b-8c4d-112233445567",` +
				`"leased_at":"2026-02-05T08:00:00Z","lease_ends_at":"2026-02-05T08:01:00Z"}]}`
		},
		"POST /v1/retries/results": func() string { open = true; return `{"items":[{"result":{}}]}` },
		"POST /v1/processed":       func() string { return `{"accepted":1}` },
	}
	mux := http.NewServeMux()
	for pattern, body := range answer {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body()) })
	}
	mux.HandleFunc("POST /v1/events", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n := strings.Count(string(body), "\n")
		fmt.Fprintln(os.Stdout, "the ledger got", n, "events")
		fmt.Fprintf(w, `{"accepted":%d,"durable":true}`, n)
	})
	mux.Handle("POST /v1/promotions", fault.HandlerFunc(func(http.ResponseWriter, *http.Request) error {
		return fault.New(fault.CodePromotionBlocked, "The entity is blocked by 1 open errors.")
	}))
	return httptest.NewServer(mux)
}

// Report what failed, and ask whether its company may go on.
func Example() {
	server := standIn()
	defer server.Close()
	c, err := client.New(client.Options{Server: server.URL, Key: os.Getenv("RECOUP_KEY"), Service: "dol-hub", Region: "eu-central-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	ctx := context.Background()

	reported, err := c.Report(ctx, recoup.Report{
		Table: "outreach.dol_errors", EntityID: "CO-20260205-000001",
		Code: "NETWORK_TIMEOUT", Message: "the filing server did not answer",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reported.Error.State)

	gate, err := c.CheckPromotion(ctx, "CO-20260205-000001")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("blocked:", gate.Blocked, "by", gate.Blockers[0].Code)

	_, err = c.Promote(ctx, recoup.Promotion{EntityID: "CO-20260205-000001", Phase: "outreach"})
	fmt.Println(errors.Is(err, fault.New(fault.CodePromotionBlocked, "")))
	// Output:
	// RETRY_PENDING
	// blocked: true by NETWORK_TIMEOUT
	// true
}

// A worker does failed work again until it is told to stop.
func ExampleWorker() {
	server := standIn()
	defer server.Close()
	c, err := client.New(client.Options{Server: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()

	ctx, stop := context.WithCancel(context.Background()) // signal.NotifyContext in a program
	worker := client.Worker{
		Client: c, Name: "dol-worker-1", Tables: []string{"outreach.dol_errors"},
		Handler: func(_ context.Context, e recoup.Error) error {
			fmt.Println("looking up the filings of", e.EntityID, "again")
			stop()
			return nil
		},
	}
	if err := worker.Run(ctx); err != nil {
		fmt.Println(err)
		return
	}
	gate, err := c.CheckPromotion(context.Background(), "CO-20260205-000001")
	fmt.Println("blocked:", gate.Blocked, err)
	// Output:
	// looking up the filings of CO-20260205-000001 again
	// blocked: false <nil>
}

// Events from three places: by hand, from a log, from an HTTP service. None of
// them waits for the network.
func ExampleEmitter() {
	server := standIn()
	defer server.Close()
	c, err := client.New(client.Options{Server: server.URL, Service: "renderdb"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	emitter, err := client.NewEmitter(client.EmitterOptions{Client: c}) // and Spool, to survive a restart
	if err != nil {
		fmt.Println(err)
		return
	}

	emitter.Emit(recoup.Event{Code: fault.CodeRateLimitExceeded, ExternalService: "millionverifier"})

	logger := slog.New(emitter.Handler(slog.DiscardHandler))
	logger.Error("the import failed", "error", context.DeadlineExceeded)

	wrap, err := emitter.Middleware(fault.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	service := wrap(fault.HandlerFunc(func(http.ResponseWriter, *http.Request) error {
		return fault.New(fault.CodeSlotConflict, "The slot is taken.")
	}))
	service.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/slots", nil))

	fmt.Println(emitter.Close(context.Background()))
	// Output:
	// the ledger got 3 events
	// <nil>
}

// A serverless function delivers before it is frozen.
func ExampleEmitter_Flush() {
	server := standIn()
	defer server.Close()
	c, err := client.New(client.Options{Server: server.URL, Service: "resize-image"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	emitter, err := client.NewEmitter(client.EmitterOptions{Client: c})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = emitter.Close(context.Background()) }() // nothing is left by then
	handle := func(ctx context.Context) error {
		emitter.Emit(recoup.Event{Code: fault.CodeStorageFull})
		return emitter.Flush(ctx)
	}
	fmt.Println(handle(context.Background()))
	// Output:
	// the ledger got 1 events
	// <nil>
}
