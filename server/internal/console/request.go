package console

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/admin"
)

// Request is one request for a page, by somebody who is signed in.
type Request struct {
	console *Console
	w       http.ResponseWriter
	r       *http.Request
	session session
	client  *client.Client
	who     who
	now     time.Time
	sent    bool // the browser was sent on

	mu      sync.Mutex
	limited *fault.Error // why parts of the page are missing; nil: none are
}

// handle makes the handler of a page.
func (c *Console) handle(p Page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &Request{console: c, w: w, r: r, now: c.Now()}
		shown, err := v.run(p)
		switch {
		case err != nil:
			v.fail(err)
		case !v.sent:
			c.pages.show(v, http.StatusOK, p.Name, shown)
		}
	})
}

// run finds out who asks, and does what the page is for.
func (v *Request) run(p Page) (_ any, err error) {
	if v.session, err = v.console.current(v.r); err != nil {
		if _, limited := errors.AsType[*fault.Error](err); limited {
			v.sent = true
			refuse(v.w, err)
			return nil, nil
		}
		return nil, err
	}
	if !v.console.Open {
		v.r = v.r.WithContext(v.console.As(v.r.Context(), v.session.keyHash))
	}
	if v.client, err = v.console.ask(v.r, client.Options{}); err != nil {
		return nil, err
	}
	if p.Name != "" { // what shows no page works also while the key is over its rate, above all signing out
		key, err := admin.New(v.client).Keys.Current(v.ctx())
		if err != nil {
			return nil, err
		}
		v.who = who{key, v.console.Open}
	}
	if p.Method == http.MethodPost {
		if err := v.readForm(p); err != nil {
			return nil, err
		}
	}
	if p.Method == http.MethodPost && subtle.ConstantTimeCompare([]byte(v.r.PostFormValue("csrf")), []byte(v.session.csrf())) != 1 {
		return nil, fault.New(fault.CodeInsufficientPermissions, "This form is not from your session: it was opened before you signed in, or by another page. Nothing was done; go back, reload the page and try again.")
	}
	v.normalizeNewlines()
	return p.View(v)
}

// normalizeNewlines ends lines of what was typed as they are ended everywhere else: browsers send them
// with a carriage return.
func (v *Request) normalizeNewlines() {
	for _, values := range v.r.PostForm {
		for i := range values {
			values[i] = strings.ReplaceAll(values[i], "\r\n", "\n")
		}
	}
}

// ask returns a client of the API in this process. Its calls are not retried: whoever waits is
// a person at a browser, who is shown the failure and how long to wait.
func (c *Console) ask(r *http.Request, o client.Options) (*client.Client, error) {
	o.Server, o.HTTP = server, &http.Client{Transport: inProcess{c.API, r.RemoteAddr, r.Header.Values("X-Forwarded-For")}}
	o.UserAgent, o.Now, o.Random, o.NoRetry = "recoup-console", c.Now, c.Random, true
	return client.New(o)
}

func (v *Request) ctx() context.Context { return v.r.Context() }

// together asks for several things at once, and joins what went wrong.
func together(asks ...func() error) error {
	failed := make([]error, len(asks))
	var all sync.WaitGroup
	for i, ask := range asks {
		all.Go(func() { failed[i] = ask() })
	}
	all.Wait()
	return errors.Join(failed...)
}

// root leads from the address of this page to the console's first one.
func (v *Request) root() string {
	below := strings.TrimPrefix(v.r.URL.EscapedPath(), Path) // a name may have a slash in it
	return "./" + strings.Repeat("../", strings.Count(below, "/"))
}

// goTo sends the browser to a page, given by its address below the console.
func (v *Request) goTo(path string) {
	v.sent = true
	seeOther(v.w, v.root()+path)
}

// seeOther sends the browser on. The address is relative, because a proxy may have put the
// console anywhere.
func seeOther(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

// problem is a page that says what went wrong.
type problem struct {
	Title, Message, Request string
	Status                  int
	Again                   string // the page that can be asked for again; empty: none
	Wait                    int    // seconds
}

// fail answers with what went wrong. Who is not signed in is asked to, and goes on to where
// they were.
func (v *Request) fail(err error) {
	refused, ok := errors.AsType[*fault.Error](err)
	switch {
	case v.gone():
		panic(http.ErrAbortHandler) // counted as aborted, and not logged as a failure of this server
	case errors.Is(err, errSignedOut), ok && (refused.Code == fault.CodeInvalidAPIKey || refused.Code == fault.CodeAPIKeyExpired):
		v.askToSignIn()
		return
	case !ok:
		v.console.Logger.Error("a page could not be made", "path", v.r.URL.Path, "cause", err)
		refused = fault.New(fault.CodeInternalError, "The page could not be made.")
	}
	status := statusOf(refused)
	p := problem{Title: title(status), Message: refused.Message, Status: status, Wait: retryAfter(v.w, refused)}
	if p.Wait > 0 && v.r.Method == http.MethodGet {
		p.Again = destination(strings.TrimPrefix(v.r.URL.RequestURI(), Path))
	}
	if info, ok := fault.FromContext(v.r.Context()); ok {
		p.Request = info.RequestID
	}
	v.console.pages.show(v, p.Status, "problem", p)
}

// statusOf is the status of a failure that the API has told, or that a page found.
func statusOf(e *fault.Error) int { return cmp.Or(e.Status, e.Definition().HTTPStatus) }

// retryAfter tells the browser for how many seconds a failure asks to wait; zero: for none.
func retryAfter(w http.ResponseWriter, e *fault.Error) int {
	wait := int(math.Ceil(e.RetryAfter.Seconds()))
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(wait))
	}
	return wait
}

// title is the headline of a failure.
func title(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "Too many requests"
	case status == http.StatusForbidden:
		return "Your key may not do this"
	case status == http.StatusNotFound:
		return "There is nothing here"
	case status >= http.StatusInternalServerError:
		return "Recoup cannot answer right now"
	}
	return "That did not work"
}

// askToSignIn leads to the form, which leads back. Of an act only its page can be gone back
// to.
func (v *Request) askToSignIn() {
	if v.r.Header.Get("Hx-Request") != "" { // a part of a page: the whole page has to go
		v.w.Header().Set("Hx-Refresh", "true")
		v.w.WriteHeader(http.StatusUnauthorized)
		return
	}
	to := ""
	if v.r.Method == http.MethodGet {
		to = strings.TrimPrefix(v.r.URL.EscapedPath(), Path)
		if v.r.URL.RawQuery != "" {
			to += "?" + v.r.URL.RawQuery
		}
	}
	q := ""
	if to != "" {
		q = "?" + url.Values{"to": {to}}.Encode()
	}
	v.goTo("sign-in" + q)
}

// missing is the page of an address where there is none.
func missing(*Request) (any, error) {
	return nil, fault.New(fault.CodeNotFound, "The console has no page at this address.")
}

// stream passes on what changes, as the API tells it, for as long as the session lasts.
func (c *Console) stream(w http.ResponseWriter, r *http.Request) {
	s, err := c.current(r)
	switch {
	case errors.Is(err, errSignedOut):
		http.Error(w, "sign in again", http.StatusUnauthorized)
		return
	case err != nil:
		refuse(w, err)
		return
	}
	ctx := r.Context()
	if !c.Open {
		watched, leave := c.watch(ctx, s)
		defer leave()
		ctx = c.As(watched, s.keyHash)
	}
	in := r.Clone(ctx)
	in.URL.Path, in.URL.RawQuery = "/v1/stream", r.URL.RawQuery
	in.Header.Del("Cookie")
	c.API.ServeHTTP(w, in)
	if errors.Is(context.Cause(ctx), errSignedOut) {
		_, _ = io.WriteString(w, "event: signed-out\ndata: {}\n\n") // it fails when the browser has gone
	}
}
