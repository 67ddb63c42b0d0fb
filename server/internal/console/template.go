package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
)

//go:embed template/*.html
var embedded embed.FS

// templates are those of the console itself.
var templates = sync.OnceValue(func() fs.FS {
	dir, err := fs.Sub(embedded, "template")
	if err != nil {
		panic(err) // it is part of the program
	}
	return dir
})

// pages are the templates, one set for each page.
type pages struct{ sets map[string]*template.Template }

// frames returns the templates that every page shares. They are parsed once for a process.
var frames = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").Funcs(functions()).ParseFS(templates(), "layout.html", "part_*.html")
})

// ownPages returns the pages of the console itself, and those that stand alone. They are
// parsed once for a process.
var ownPages = sync.OnceValues(func() (*pages, error) {
	p := &pages{map[string]*template.Template{}}
	return p, p.add(core(), "problem", "sign-in")
})

// readPages returns the templates of all pages.
func readPages(sections []Section) (*pages, error) {
	own, err := ownPages()
	if err != nil {
		return nil, err
	}
	p := &pages{maps.Clone(own.sets)}
	for _, s := range sections {
		if err := p.add(s); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// add adds the templates of a section, and of pages that have no path.
func (p *pages) add(s Section, names ...string) error {
	for _, page := range s.Pages {
		names = append(names, page.Name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		switch {
		case name == "":
			continue
		case p.sets[name] != nil:
			return fmt.Errorf("console: two sections have a page %s", name)
		}
		base, err := frames()
		if err != nil {
			return err
		}
		set, err := base.Clone()
		if err == nil {
			set, err = set.ParseFS(s.Templates, "page_"+strings.ReplaceAll(name, "-", "_")+".html")
		}
		if err != nil {
			return fmt.Errorf("console: page %s: %w", name, err)
		}
		p.sets[name] = set
	}
	return p.addPanels(s)
}

// frame is what is around every page.
type frame struct {
	Page    string // of the navigation
	Entries []Entry
	Root    string
	Here    string // the address below the console, for what comes back here
	CSRF    string
	Who     who
	Theme   string  // light or dark; empty: the system's
	Times   string  // local; empty: UTC
	Columns columns // of the page's list
	Version string
	Now     time.Time
	Done    string // what was just done
	Standby bool
	Missing string // why parts of the page are missing; empty: none are
	Main    any
}

// show writes a page in the console's frame.
func (p *pages) show(v *Request, status int, page string, main any) {
	f := frame{
		Page: v.console.entryOf(page), Entries: v.console.entries, Root: v.root(), CSRF: v.session.csrf(), Who: v.who, Theme: chosen(v.r, themes()), Times: chosen(v.r, times()), Version: v.console.Version, Standby: v.console.Standby,
		Now: v.now, Done: v.done(), Main: main, Here: strings.TrimPrefix(v.r.URL.RequestURI(), Path), Columns: v.pageColumns(page),
	}
	if v.limited != nil {
		f.Missing = v.limited.Message
		retryAfter(v.w, v.limited)
	}
	var body []byte
	if err := v.inTurn(func() error { body = p.render(page, "layout", f); return nil }); err != nil {
		panic(http.ErrAbortHandler) // the browser has gone
	}
	send(v.w, status, body)
}

// coreWithin says which entry of the navigation is marked on pages that have none.
func coreWithin() map[string]string {
	return map[string]string{
		"error": "errors", "confirm": "errors", "dead-letter": "dead-letters", "dead-letter-group": "dead-letters", "group-confirm": "dead-letters",
		"replay-plan": "dead-letters", "replay": "operations", "operation": "operations", "alert": "alerts", "group": "groups", "audit": "admin", "doctor": "admin",
	}
}

// alone writes a page for those who are not signed in.
func (p *pages) alone(w http.ResponseWriter, status int, page string, main any) {
	p.write(w, status, page, "alone", frame{Page: page, Root: "./", Main: main})
}

// write makes a page whole before a byte of it is sent, so that none is half a page.
func (p *pages) write(w http.ResponseWriter, status int, page, entry string, f frame) {
	send(w, status, p.render(page, entry, f))
}

func send(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // it fails when the browser has gone
}

func (p *pages) render(page, entry string, f frame) []byte {
	var b bytes.Buffer
	if err := p.sets[page].ExecuteTemplate(&b, entry, f); err != nil {
		panic(fmt.Errorf("console: page %s: %w", page, err)) // the middleware answers and logs it
	}
	return b.Bytes()
}

// functions are what templates may call.
func functions() template.FuncMap {
	return template.FuncMap{
		"asset": asset, "segment": url.PathEscape, "count": count, "plural": plural, "short": short, "badge": stateBadge, "moment": moment, "age": age, "next": next,
		"change": change, "pairs": pairs, "workflowBadge": workflowBadge, "web": web,
		"errorTable": func(now time.Time, errors []recoup.Error, pick bool, c columns) errorTable {
			return errorTable{now, errors, pick, c}
		},
		"actBar": func(refused string, verbs []verb, matching string, everything bool) actBar {
			return actBar{refused, verbs, matching, everything}
		},
		"stepForm": func(g guide, name string) stepForm { return stepForm{g, name} },
		"noteList": func(now time.Time, notes []recoup.Note) noteList { return noteList{now, notes} },
		"causes":   causes, "itemBadge": itemBadge, "replayBadge": replayBadge, "operationBadge": operationBadge, "resultBadge": resultBadge, "filterWords": filterWords, "alertBadge": alertBadge, "figure": figure, "alertSince": alertSince, "percent": percent,
		"int":     func(n int) int64 { return int64(n) },
		"viewHub": viewHub, "counted": func(n int, noun string) counted { return counted{int64(n), noun} }, "details": details, "target": target,
		"words": func(name any) string { return strings.ReplaceAll(strings.ToLower(fmt.Sprint(name)), "_", " ") },
		"sum":   func(a, b int64) int64 { return a + b },
		"add":   func(a, b int) int { return a + b },
		"sub":   func(a, b int) int { return a - b },
		"lower": func(s any) string { return strings.ToLower(fmt.Sprint(s)) },
	}
}

// errorTable is a table of errors, whose rows can be picked or not.
type errorTable struct {
	Now     time.Time
	Errors  []recoup.Error
	Pick    bool
	Columns columns
}

// actBar is the bar of acts that comes with a selection.
type actBar struct {
	Refused    string // why the visitor may not act
	Verbs      []verb
	Matching   string
	Everything bool // all that match can be meant
}

// coreEntries lists the pages that one can always go to.
func coreEntries() []Entry {
	return []Entry{
		{Page: "now", Path: "./", Name: "Now", Key: "n"},
		{Page: "groups", Path: "groups", Name: "Groups", Key: "u"},
		{Page: "errors", Path: "errors", Name: "Errors", Key: "e"},
		{Page: "park", Path: "park", Name: "Park queue", Key: "p"},
		{Page: "dead-letters", Path: "dead-letters", Name: "Dead letters", Key: "d"},
		{Page: "operations", Path: "operations", Name: "Operations", Key: "r"},
		{Page: "alerts", Path: "alerts", Name: "Alerts", Key: "a"},
		{Page: "promotion", Path: "promotion", Name: "Promotion", Key: "o", Rule: true},
		{Page: "codes", Path: "codes", Name: "Codes", Key: "c", Rule: true},
		{Page: "policy", Path: "policy", Name: "Policy", Key: "y"},
		{Page: "admin", Path: "admin", Name: "Admin", Key: "m"},
	}
}

// choice is something that a visitor likes to have in one way or another.
type choice struct {
	cookie string
	field  string   // of its form
	words  []string // of which one is remembered; another one is what goes without saying
}

func themes() choice { return choice{"recoup_theme", "theme", []string{"light", "dark"}} }
func times() choice  { return choice{"recoup_times", "times", []string{"local"}} }

// chosen is the word that the browser remembers; empty: none.
func chosen(r *http.Request, of choice) string {
	if c, err := r.Cookie(of.cookie); err == nil && slices.Contains(of.words, c.Value) {
		return c.Value
	}
	return ""
}

// choose remembers a choice in the browser for a year, and goes on where it was made.
func choose(of choice) func(*Request) (any, error) {
	return func(v *Request) (any, error) {
		word, life := v.r.PostFormValue(of.field), 365*24*3600
		if !slices.Contains(of.words, word) {
			word, life = "", -1
		}
		v.console.setCookie(v.w, v.r, of.cookie, word, life)
		v.goTo(destination(v.r.PostFormValue("to")))
		return nil, nil
	}
}
