package client_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// retryServer hands out errors and takes results, as a server does.
type retryServer struct {
	lease time.Duration
	now   func() time.Time

	mu      sync.Mutex
	due     []recoup.Error
	claims  []recoup.RetryClaim
	results []recoup.RetryResult                      // all but extensions
	extends []time.Time                               // when leases were extended
	arrived chan struct{}                             // closed when something falls due
	judge   func(recoup.RetryResult) *fault.Error     // refuses a result
	fail    func(path string, n int) http.HandlerFunc // takes the place of the n-th request for a path, from 0
	n       map[string]int
}

// token is that of an error's lease.
func token(id recoup.ID) recoup.ID {
	id[0] = 1
	return id
}

func newRetryServer(lease time.Duration, due int) *retryServer {
	o := &retryServer{
		lease: lease, now: time.Now, arrived: make(chan struct{}), n: map[string]int{},
		judge: func(recoup.RetryResult) *fault.Error { return nil },
		fail:  func(string, int) http.HandlerFunc { return nil },
	}
	o.add(due)
	return o
}

func (o *retryServer) add(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for range n {
		o.due = append(o.due, recoup.Error{ID: id(byte(len(o.due) + 1)), Table: "t", Code: "TIMEOUT"})
	}
	close(o.arrived)
	o.arrived = make(chan struct{})
}

func (o *retryServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	n := o.n[r.URL.Path]
	o.n[r.URL.Path]++
	instead := o.fail(r.URL.Path, n)
	o.mu.Unlock()
	switch {
	case instead != nil:
		instead(w, r)
	case r.URL.Path == "/v1/retries/claim":
		o.claim(w, r)
	case r.URL.Path == "/v1/retries/results":
		o.result(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (o *retryServer) claim(w http.ResponseWriter, r *http.Request) {
	var c recoup.RetryClaim
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		panic(err)
	}
	over := time.After(time.Duration(c.WaitSeconds) * time.Second)
	for waited := false; ; waited = true {
		o.mu.Lock()
		if !waited {
			o.claims = append(o.claims, c)
		}
		n := min(c.Limit, len(o.due))
		claimed := slices.Clone(o.due[:n])
		o.due = o.due[n:]
		arrived := o.arrived
		o.mu.Unlock()
		for i := range claimed {
			claimed[i].LeaseToken, claimed[i].LeasedAt, claimed[i].LeaseEndsAt = token(claimed[i].ID), noon, noon.Add(o.lease)
		}
		if n == 0 && c.WaitSeconds > 0 {
			select {
			case <-arrived:
				continue
			case <-over:
			case <-r.Context().Done():
				return
			}
		}
		_ = json.NewEncoder(w).Encode(recoup.RetryClaimed{Errors: claimed})
		return
	}
}

func (o *retryServer) result(w http.ResponseWriter, r *http.Request) {
	var batch recoup.RetryResultBatch
	if err := json.NewDecoder(r.Body).Decode(&batch); err != nil {
		panic(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var answer recoup.ActResultBatch
	for _, result := range batch.Results {
		item := recoup.Item[recoup.ActResult]{Result: &recoup.ActResult{}}
		switch refusal := o.judge(result); {
		case refusal != nil:
			failure, err := json.Marshal(refusal)
			if err != nil {
				panic(err)
			}
			item = recoup.Item[recoup.ActResult]{Failure: failure}
		case result.Outcome == recoup.OutcomeExtended:
			o.extends = append(o.extends, o.now())
		default:
			o.results = append(o.results, result)
		}
		answer.Items = append(answer.Items, item)
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// said returns the results that the retryServer took, as text.
func (o *retryServer) said() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []string
	for _, r := range o.results {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%d %s %s", r.ErrorID[15], r.Outcome, r.Code)))
	}
	slices.Sort(list)
	return list
}
