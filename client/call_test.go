package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		o    client.Options
		want string
	}{
		"no server":      {client.Options{}, "no server"},
		"no scheme":      {client.Options{Server: "recoup.example.com"}, "an address such as"},
		"wrong scheme":   {client.Options{Server: "ftp://recoup.example.com"}, "an address such as"},
		"a secret in it": {client.Options{Server: "https://rdb_x@recoup.example.com"}, "no user"},
		"a query":        {client.Options{Server: "https://recoup.example.com?x=1"}, "no user, query"},
		"line break":     {client.Options{Server: "https://recoup.example.com", Key: "rdb_x\n"}, "line break"},
		"negative time":  {client.Options{Server: "https://recoup.example.com", Timeout: -1}, "negative"},
	} {
		_, err := client.New(row.o)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want something about %q", name, err, row.want)
		}
		if err != nil && strings.Contains(err.Error(), "rdb_x") {
			t.Errorf("%s: the error repeats a secret", name)
		}
	}
	o := client.FromEnv(func(name string) string {
		return map[string]string{"RECOUP_SERVER": "http://s", "RECOUP_KEY": "k"}[name]
	})
	if o.Server != "http://s" || o.Key != "k" {
		t.Errorf("the environment gives %+v", o)
	}
}

// Every request says who sends it and carries the ids that make it traceable.
func TestHeaders(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(`{}`))
	o := s.options()
	o.UserAgent = "hub/1.2"
	c := connect(t, o)
	if _, err := c.Report(t.Context(), recoup.Report{Table: "t", Code: "TIMEOUT"}, client.IdempotencyKey("mine"), client.RequestID("req_7")); err != nil {
		t.Fatal(err)
	}
	got := s.all()[0]
	for name, want := range map[string]string{
		"Authorization": "Bearer " + key, "Content-Type": "application/json", "Accept": "application/json",
		"User-Agent": "hub/1.2", "Idempotency-Key": "mine", "X-Request-Id": "req_7", "Traceparent": "",
	} {
		if h := got.header.Get(name); h != want {
			t.Errorf("%s is %q, want %q", name, h, want)
		}
	}
	if want := `{"table":"t","code":"TIMEOUT","service":"renderdb","region":"eu-1"}`; got.body != want {
		t.Errorf("body is %s, want %s", got.body, want)
	}
}

// A call made while a request is served continues its trace.
func TestTraceIsPassedOn(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(`{}`))
	c := s.client(t)
	wrap, err := fault.NewMiddleware(fault.Options{Service: "hub", Now: s.options().Now, Random: s.options().Random})
	if err != nil {
		t.Fatal(err)
	}
	handler := wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := c.CheckPromotion(r.Context(), "CO-1"); err != nil {
			t.Error(err)
		}
	}))
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	handler.ServeHTTP(httptest.NewRecorder(), r)
	got := s.all()[0].header.Get("Traceparent")
	if !strings.HasPrefix(got, "00-4bf92f3577b34da6a3ce929d0e0e4736-") || len(got) != 55 || strings.Contains(got, "00f067aa0ba902b7") {
		t.Errorf("traceparent is %q", got)
	}
}

// Whatever happens to an answer, the next request is the same request.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]http.HandlerFunc{"all of it": cut, "half of it": half} {
		s := serve(t, inTurn(lose, lose, reply(`{"error":{"error_id":"00000000-0000-0000-0000-000000000001"}}`)))
		got, err := s.client(t).Report(t.Context(), recoup.Report{Table: "t", Code: "TIMEOUT"})
		if err != nil || got.Error.ID != id(1) {
			t.Fatalf("%s: got %+v, %v", name, got, err)
		}
		first := s.all()[0]
		if first.header.Get("Idempotency-Key") == "" {
			t.Errorf("%s: no idempotency key", name)
		}
		if n := len(s.all()); n != 3 {
			t.Errorf("%s: %d requests", name, n)
		}
		for _, r := range s.all() {
			if !reflect.DeepEqual(r.header["Idempotency-Key"], first.header["Idempotency-Key"]) || r.body != first.body {
				t.Errorf("%s: another request: %+v", name, r)
			}
		}
	}
}

// What the server would do again is not repeated where it may have been done,
// by the client or by net/http, and is where it was surely not.
func TestOnce(t *testing.T) {
	t.Parallel()
	overloaded := refuse(fault.New(fault.CodeServiceOverloaded, "too much to do"))
	calls := map[string]func(*client.Client, context.Context) error{
		"replay": func(c *client.Client, ctx context.Context) error {
			_, err := c.DeadLetters.Replay(ctx, id(1), recoup.SingleReplay{Reason: "why"})
			return err
		},
		"do": func(c *client.Client, ctx context.Context) error {
			return c.Do(ctx, client.Request{Method: http.MethodPost, Path: "/v1/silences", Body: struct{}{}}, nil)
		},
		"bulk": func(c *client.Client, ctx context.Context) error {
			_, err := c.Errors.ActOnIDs(ctx, recoup.ActEscalate, recoup.BulkAct{IDs: []recoup.ID{{1}}})
			return err
		},
		"processed": func(c *client.Client, ctx context.Context) error {
			return c.CountProcessed(ctx, []recoup.Processed{{Count: 1}})
		},
	}
	for name, call := range calls {
		s := serve(t, inTurn(reply(`{}`), cut, reply(`{}`))) // the first opens the connection
		c := s.client(t)
		if err := call(c, t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := call(c, t.Context()); !errors.Is(err, fault.New(fault.CodeConnectionReset, "")) || len(s.all()) != 2 {
			t.Errorf("%s: got %v after %d requests", name, err, len(s.all()))
		}
		if s.all()[0].header["Idempotency-Key"] != nil {
			t.Errorf("%s: has an idempotency key that the server does not honour", name)
		}
		s = serve(t, inTurn(overloaded, reply(`{}`)))
		if err := call(s.client(t), t.Context()); err != nil || len(s.all()) != 2 {
			t.Errorf("%s: got %v after %d requests", name, err, len(s.all()))
		}
	}
}

// Retries follow the code, and waits are at least what the server asked for.
func TestRetries(t *testing.T) {
	t.Parallel()
	second, minute := time.Second, time.Minute
	for name, row := range map[string]struct {
		failure  *fault.Error
		requests int
		least    []time.Duration
	}{
		"rate limit, short":   {fault.New(fault.CodeRateLimitExceeded, "").After(second), 4, []time.Duration{minute, 2 * minute, 4 * minute}},
		"rate limit, long":    {fault.New(fault.CodeRateLimitExceeded, "").After(10 * minute), 4, []time.Duration{10 * minute, 10 * minute, 10 * minute}},
		"rate limit, too far": {fault.New(fault.CodeRateLimitExceeded, "").After(time.Hour), 1, nil},
		"maintenance":         {fault.New(fault.CodeTemporaryUnavailable, "").After(30 * second), 4, []time.Duration{30 * second, 30 * second, 30 * second}},
		"database away":       {fault.New(fault.CodeDatabaseConnectionError, ""), 4, []time.Duration{second, 2 * second, 4 * second}},
		"internal error":      {fault.New(fault.CodeInternalError, ""), 4, []time.Duration{second, 2 * second, 4 * second}},
		"validation":          {fault.Validation(fault.FieldError{Field: "table"}), 1, nil},
		"wrong key":           {fault.New(fault.CodeInvalidAPIKey, ""), 1, nil},
		"another payload":     {fault.New(fault.CodeIdempotencyConflict, ""), 1, nil},
		"closed gate":         {fault.New(fault.CodePromotionBlocked, ""), 1, nil},
	} {
		s := serve(t, refuse(row.failure))
		_, err := s.client(t).Report(t.Context(), recoup.Report{Table: "t"})
		var got *fault.Error
		if !errors.As(err, &got) || got.Code != row.failure.Code || got.Status != got.Definition().HTTPStatus {
			t.Errorf("%s: got %v", name, err)
		}
		if n := len(s.all()); n != row.requests {
			t.Errorf("%s: %d requests, want %d", name, n, row.requests)
		}
		for i, least := range row.least {
			if d := s.slept[i]; d < least || d > least*11/10 {
				t.Errorf("%s: waited %v before retry %d, want %v and up to a tenth more", name, d, i+1, least)
			}
		}
		s = serve(t, refuse(row.failure))
		if _, err := s.client(t).Report(t.Context(), recoup.Report{}, client.NoRetry()); err == nil || len(s.all()) != 1 {
			t.Errorf("%s: with NoRetry got %v after %d requests", name, err, len(s.all()))
		}
	}
}

func TestObserve(t *testing.T) {
	t.Parallel()
	s := serve(t, inTurn(cut, reply(`{}`)))
	o := s.options()
	var verdicts []retry.Verdict
	o.Observe = func(a retry.Attempt) { verdicts = append(verdicts, a.Verdict) }
	if _, err := connect(t, o).Errors.Counts(t.Context()); err != nil || !reflect.DeepEqual(verdicts, []retry.Verdict{retry.Retry, retry.Succeeded}) {
		t.Errorf("saw %v, %v", verdicts, err)
	}
}

// An answer that is not what was asked for is an error, and the work is not
// repeated.
func TestBadAnswers(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, reply(`{}`))
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}
	for name, row := range map[string]struct {
		handler http.HandlerFunc
		want    recoup.Code
	}{
		"too large": {reply(`"` + strings.Repeat("x", 2000) + `"`), fault.CodePayloadTooLarge},
		"not JSON":  {reply(`<html>`), fault.CodeSchemaInvalid},
		"empty":     {reply(``), fault.CodeSchemaInvalid},
		"redirect":  {redirect, fault.CodeConfigurationError},
		"proxy's":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, fault.CodeInsufficientPermissions},
	} {
		s := serve(t, row.handler)
		o := s.options()
		o.MaxAnswer = 1000
		_, err := connect(t, o).Report(t.Context(), recoup.Report{})
		var got *fault.Error
		if !errors.As(err, &got) || got.Code != row.want || len(s.all()) != 1 {
			t.Errorf("%s: got %v after %d requests", name, err, len(s.all()))
		}
	}
	if n := len(elsewhere.all()); n != 0 {
		t.Errorf("%d requests, and the key, went elsewhere", n)
	}
}

// Of batches every item must be answered.
func TestBatchAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(`{"items":[{"result":{"error":{"error_id":"00000000-0000-0000-0000-000000000001"}}},`+
		`{"failure":{"error_code":"VALIDATION_ERROR","message":"no","request_id":"r"}},{},{"failure":7}]}`))
	c := s.client(t)
	items, err := c.ReportBatch(t.Context(), make([]recoup.Report, 4))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := items[0].Get(); err != nil || got.Error.ID != id(1) {
		t.Errorf("got %+v, %v", got, err)
	}
	for i, want := range map[int]recoup.Code{1: fault.CodeValidationError, 2: fault.CodeSchemaInvalid, 3: fault.CodeSchemaInvalid} {
		if _, err := items[i].Get(); !errors.Is(err, fault.New(want, "")) {
			t.Errorf("item %d: got %v, want %s", i, err, want)
		}
	}
	if _, err := c.ReportBatch(t.Context(), make([]recoup.Report, 5)); !errors.Is(err, fault.New(fault.CodeSchemaInvalid, "")) {
		t.Errorf("four answers to five items: %v", err)
	}
}

// A call ends with its context, and says what it was waiting for.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	s := serve(t, refuse(fault.New(fault.CodeServiceOverloaded, "too much to do")))
	o := s.options()
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("going home")
	o.Sleep = func(ctx context.Context, d time.Duration) error {
		cancel(reason)
		return retry.Sleep(ctx, d)
	}
	c := connect(t, o)
	_, err := c.Errors.Counts(ctx)
	for _, want := range []error{context.Canceled, reason, fault.New(fault.CodeRequestCancelled, ""), fault.New(fault.CodeServiceOverloaded, "")} {
		if !errors.Is(err, want) {
			t.Errorf("got %v, which is not %v", err, want)
		}
	}
	if _, err := c.Errors.Counts(ctx); !errors.Is(err, fault.New(fault.CodeRequestCancelled, "")) || len(s.all()) != 1 {
		t.Errorf("got %v after %d requests", err, len(s.all()))
	}
}

// A server that accepts and never answers costs a timeout an attempt.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		c := bubble(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			requests++
			<-r.Context().Done()
		}))
		start := time.Now()
		_, err := c.Errors.Counts(t.Context())
		if took := time.Since(start); took < 6*30*time.Second || took > 6*30*time.Second+5*time.Second {
			t.Errorf("it took %v", took)
		}
		if !errors.Is(err, fault.New(fault.CodeNetworkTimeout, "")) || requests != 6 {
			t.Errorf("got %v after %d requests", err, requests)
		}
	})
}

// A claim may wait for longer than other calls take.
func TestLongPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newRetryServer(time.Minute, 0)
		c := bubble(t, o)
		start := time.Now()
		claimed, err := c.Retries.Claim(t.Context(), recoup.RetryClaim{Worker: "w", WaitSeconds: 60})
		if err != nil || len(claimed) != 0 || time.Since(start) != time.Minute || len(o.claims) != 1 {
			t.Errorf("%v, %v after %v and %d requests", claimed, err, time.Since(start), len(o.claims))
		}
	})
}

// An id that is missing would ask for something else.
func TestMissingPathSegments(t *testing.T) {
	t.Parallel()
	s := serve(t, reply(`{}`))
	c := s.client(t)
	for name, call := range map[string]func() error{
		"error":  func() error { _, err := c.Errors.Get(t.Context(), recoup.ID{}); return err },
		"act":    func() error { _, err := c.Errors.Park(t.Context(), recoup.ID{}, recoup.Act{}); return err },
		"entity": func() error { _, err := c.CheckPromotion(t.Context(), ""); return err },
		"code":   func() error { _, err := c.Codes.Get(t.Context(), ""); return err },
	} {
		if err := call(); !errors.Is(err, fault.New(fault.CodeValidationError, "")) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if n := len(s.all()); n != 0 {
		t.Errorf("%d requests were made", n)
	}
}

// Do makes any call: its method says whether it is repeated unless the request does, and the
// answer is decoded where it is wanted.
func TestDo(t *testing.T) {
	t.Parallel()
	type answer struct{ N int }
	for name, row := range map[string]struct {
		request  client.Request
		requests int
		key      bool
	}{
		"no method is GET":      {client.Request{Path: "/v1/x"}, 2, false},
		"DELETE":                {client.Request{Method: http.MethodDelete, Path: "/v1/x"}, 2, false},
		"POST":                  {client.Request{Method: http.MethodPost, Path: "/v1/x"}, 1, false},
		"idempotent POST":       {client.Request{Method: http.MethodPost, Path: "/v1/x", Safety: client.Idempotent}, 2, false},
		"POST with a key":       {client.Request{Method: http.MethodPost, Path: "/v1/x", Safety: client.IdempotentByKey}, 2, true},
		"DELETE, but only once": {client.Request{Method: http.MethodDelete, Path: "/v1/x", Safety: client.NotIdempotent}, 1, false},
	} {
		s := serve(t, inTurn(cut, reply(`{"n":7}`)))
		var got answer
		err := s.client(t).Do(t.Context(), row.request, &got)
		if n := len(s.all()); n != row.requests || (err == nil) != (n == 2) || (err == nil) != (got.N == 7) {
			t.Errorf("%s: got %+v, %v after %d requests", name, got, err, n)
		}
		if key := s.all()[0].header.Get("Idempotency-Key"); (key != "") != row.key {
			t.Errorf("%s: the idempotency key is %q", name, key)
		}
	}
	s := serve(t, reply(`{"n":7}`))
	r := client.Request{
		Method: http.MethodPut, Path: "/v1/x", Query: url.Values{"a": {"b c"}}, Header: http.Header{"Accept": {"text/csv"}, "X-Own": {"1"}},
		Body: client.RawBody{Media: "text/plain", Data: []byte("raw")},
	}
	if err := s.client(t).Do(t.Context(), r, nil, client.RequestID("own")); err != nil {
		t.Fatal(err)
	}
	got := s.all()[0]
	if got.method != http.MethodPut || got.target != "/v1/x?a=b+c" || got.body != "raw" {
		t.Errorf("sent %s %s %s", got.method, got.target, got.body)
	}
	for name, want := range map[string]string{"Accept": "text/csv", "X-Own": "1", "Content-Type": "text/plain", "X-Request-Id": "own", "Authorization": "Bearer " + key} {
		if got.header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.header.Get(name), want)
		}
	}
}

// An answer that is read as it arrives is asked for once, and its failure is one of the contract.
func TestDoReads(t *testing.T) {
	t.Parallel()
	read := ""
	reader := func(resp *http.Response) error {
		b, err := io.ReadAll(resp.Body)
		read += string(b)
		return err
	}
	s := serve(t, reply("as it is"))
	if err := s.client(t).Do(t.Context(), client.Request{Path: "/v1/x"}, reader); err != nil || read != "as it is" {
		t.Errorf("read %q, %v", read, err)
	}
	for name, row := range map[string]struct {
		handler http.HandlerFunc
		want    recoup.Code
	}{
		"cut":     {cut, fault.CodeConnectionReset},
		"refused": {refuse(fault.New(fault.CodeServiceOverloaded, "")), fault.CodeServiceOverloaded},
	} {
		s := serve(t, row.handler)
		err := s.client(t).Do(t.Context(), client.Request{Path: "/v1/x"}, reader)
		if !errors.Is(err, fault.New(row.want, "")) || len(s.all()) != 1 {
			t.Errorf("%s: got %v after %d requests", name, err, len(s.all()))
		}
	}
}
