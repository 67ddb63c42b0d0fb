package console

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"html/template"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A session ends when nobody has used it for a while, and in any case after a day's work.
const (
	idleEnd     = 8 * time.Hour
	absoluteEnd = 24 * time.Hour
	touchEvery  = time.Minute // it is written down that often at most that it was used
)

const sessionCookie = "recoup_session"

// errSignedOut is the reason why a page asks to sign in.
var errSignedOut = errors.New("console: nobody is signed in")

// session is who asks.
type session struct {
	token   string // of the cookie; its hash is what the store knows
	keyHash [32]byte
}

// csrf is what forms of this session carry: whoever cannot read our pages cannot know it.
func (s session) csrf() string {
	mac := hmac.New(sha256.New, []byte(s.token))
	mac.Write([]byte("form"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// current returns the session of a request.
func (c *Console) current(r *http.Request) (session, error) {
	if c.Open {
		return session{token: c.openToken}, nil
	}
	cookie, err := r.Cookie(sessionCookie)
	if err != nil || len(cookie.Value) > 100 {
		return session{}, c.signedOut(r)
	}
	hash, now := sha256.Sum256([]byte(cookie.Value)), c.Now()
	known, err := c.find(r, hash, now)
	if err != nil {
		return session{}, err
	}
	if now.Sub(known.SeenAt) >= touchEvery {
		if err := c.Sessions.TouchSession(r.Context(), hash, now); err != nil {
			return session{}, err
		}
	}
	return session{cookie.Value, known.KeyHash}, nil
}

// signedOut charges a request that has no session, and returns errSignedOut or why the request is
// refused.
func (c *Console) signedOut(r *http.Request) error {
	leave, err := c.Limit.Admit(r, false)
	if err != nil {
		return err
	}
	leave()
	return errSignedOut
}

// newToken draws what a cookie holds.
func (c *Console) newToken() (string, error) {
	var b [32]byte
	if _, err := io.ReadFull(c.Random, b[:]); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}

// signInPage is the form, and why it is shown.
type signInPage struct {
	To      string // where to go then
	Problem string
}

// showSignIn shows the form. The page is rendered once; only where it leads to differs.
func (c *Console) showSignIn(w http.ResponseWriter, r *http.Request) {
	if tooLong(r.URL.RawQuery) {
		http.Error(w, "The address of the sign-in page is too long. Open the console without a destination.", http.StatusRequestURITooLong)
		return
	}
	leave, err := c.Limit.Admit(r, false)
	if err != nil {
		refuse(w, err)
		return
	}
	page := bytes.Replace(c.signInForm(), []byte(signInTo), []byte(template.HTMLEscapeString(destination(r.URL.Query().Get("to")))), 1)
	leave()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page) // it fails when the browser has gone
}

// signInTo stands for where a sign-in leads to.
const signInTo = "sign-in-to.invalid"

// refuse answers who is not signed in, without a page: there may be many of them.
func refuse(w http.ResponseWriter, err error) {
	status, text := http.StatusServiceUnavailable, "The server cannot answer right now. Try again in a moment."
	if refused, ok := errors.AsType[*fault.Error](err); ok {
		status, text = statusOf(refused), refused.Message
		retryAfter(w, refused)
	}
	http.Error(w, text, status)
}

// signIn checks a key by asking the API who it is, and makes a new session of it: an old
// cookie, whoever planted it, is never given rights.
//
// Requests beyond a rate are refused before their body is read, and the body is read before a slot
// is taken: it may come slowly.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	if err := c.Limit.SignIn(r); err != nil {
		refuse(w, err)
		return
	}
	text, status := signInBody(w, r)
	if status != 0 {
		http.Error(w, "Send the sign-in form as application/x-www-form-urlencoded with a key and at most 8 KB.", status)
		return
	}
	leave, err := c.Limit.Admit(r, false)
	if err != nil {
		refuse(w, err)
		return
	}
	defer leave()
	fields, _ := url.ParseQuery(text) // what cannot be read is left out
	form, secret := signInPage{To: destination(fields.Get("to"))}, strings.TrimSpace(fields.Get("key"))
	status, problem := c.begin(w, r, secret)
	if problem != "" {
		form.Problem = problem
		c.pages.alone(w, status, "sign-in", form)
		return
	}
	seeOther(w, "./"+form.To)
}

// A sign-in has two fields, a key and where to go then. A form of many fields would cost much to
// parse, and nobody who sends one has a session yet.
const (
	maxSignIn       = 8 << 10 // bytes of the form, or of the page's query: a destination whose every byte is escaped fits
	maxSignInFields = 8
)

func tooLong(form string) bool {
	return len(form) > maxSignIn || strings.Count(form, "&") >= maxSignInFields
}

// signInBody reads the form as it was sent, or returns the status of the refusal.
func signInBody(w http.ResponseWriter, r *http.Request) (form string, refused int) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/x-www-form-urlencoded" {
		return "", http.StatusUnsupportedMediaType
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSignIn))
	if err != nil || tooLong(string(body)) {
		return "", http.StatusRequestEntityTooLarge
	}
	return string(body), 0
}

// begin starts a session, or says why not.
func (c *Console) begin(w http.ResponseWriter, r *http.Request, secret string) (status int, problem string) {
	if secret == "" {
		return http.StatusUnprocessableEntity, "Paste an API key."
	}
	asked, err := c.ask(r, client.Options{Key: secret})
	if err == nil {
		_, err = admin.New(asked).Keys.Current(r.Context())
	}
	keyHash := sha256.Sum256([]byte(secret))
	if err == nil {
		err = c.Limit.SignInWith(keyHash)
	}
	if refused, ok := errors.AsType[*fault.Error](err); ok {
		retryAfter(w, refused)
		return statusOf(refused), signInProblem(refused)
	}
	token, drawn := c.newToken()
	if err = errors.Join(err, drawn); err == nil {
		now := c.Now()
		err = c.Sessions.AddSession(r.Context(), store.Session{
			Hash: sha256.Sum256([]byte(token)), KeyHash: keyHash, CreatedAt: now, SeenAt: now, EndsAt: now.Add(absoluteEnd),
		})
	}
	if err != nil {
		c.Logger.Error("no session could be begun", "cause", err)
		return http.StatusServiceUnavailable, "The server cannot sign anybody in right now. Try again in a moment."
	}
	c.ring.watched.Recheck() // it may have ended an older one
	c.setCookie(w, r, sessionCookie, token, 0)
	return 0, ""
}

// signInProblem says why a key is refused, to a person who has pasted it.
func signInProblem(refused *fault.Error) string {
	switch refused.Code {
	case fault.CodeInvalidAPIKey:
		return "This key is unknown or was revoked. A key begins with rdb_; 'recoup keys create --role operator --name NAME' makes one on the server's machine."
	case fault.CodeAPIKeyExpired:
		return "This key has expired. Ask an administrator for a new one."
	}
	return refused.Message
}

// setCookie gives the browser a cookie for the console alone, wherever a proxy has put it: a
// cookie without a path is for the folder of the page that sets it.
func (c *Console) setCookie(w http.ResponseWriter, r *http.Request, name, value string, life int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // it is Secure wherever the browser came by TLS, which on loopback it need not
		Name: name, Value: value, MaxAge: life, HttpOnly: true, Secure: c.Secure(r), SameSite: http.SameSiteStrictMode,
	})
}

// signOut ends the session, for every browser that has its cookie.
func signOut(v *Request) (any, error) {
	if !v.console.Open {
		if err := v.console.Sessions.EndSession(v.r.Context(), sha256.Sum256([]byte(v.session.token))); err != nil {
			return nil, err
		}
		v.console.ring.watched.Recheck()
	}
	v.console.setCookie(v.w, v.r, sessionCookie, "", -1)
	v.goTo("sign-in")
	return nil, nil
}

// destination returns to if it is the address of a page below the console, as this console
// writes it: printable ASCII that parses, has no empty, "." or ".." segment even when unescaped,
// and is the same when it is written again. Anything else is the first page, which is empty.
// The caller puts "./" in front, so that no part of it can be read as a host or a scheme.
func destination(to string) string {
	if len(to) > maxDestination || strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r > '~' || r == '\\' || r == '#' }) {
		return ""
	}
	u, err := url.Parse(Path + to)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.String() != Path+to {
		return ""
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(u.Path, Path), "/")
	if u.Path != Path && path.Clean(u.Path) != u.Path || strings.Contains(first, ":") || strings.ContainsFunc(u.Path, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }) {
		return ""
	}
	return to
}

// maxDestination is the longest address that a sign-in returns to.
const maxDestination = 2048

// who is the key that a visitor is signed in with, as pages show it.
type who struct {
	wire.Key
	Open bool
}

// May reports whether the key's role is one of those.
func (w who) May(roles ...string) bool {
	for _, role := range roles {
		if w.Role == role {
			return true
		}
	}
	return false
}

// Refused is why the key may not act; empty: it may.
func (w who) Refused() string {
	if w.May("operator", "admin") {
		return ""
	}
	return "A key of the role " + w.Role + " may only look."
}
