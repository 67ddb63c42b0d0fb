package api

import (
	"bytes"
	"html"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/api/reference"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/webfile"
)

// pageCache keeps the pages that anybody can read. Each is rendered once for a version of what
// it shows, and written again only where it names the server by the host of the request.
type pageCache struct {
	rendered atomic.Int64

	mu      sync.Mutex
	version pageVersion
	pages   map[string]*cachedPage     // as many as there are
	hosts   map[hostPage]*webfile.File // at most maxHostPages
}

// pageVersion is what pages are made of, beside the program.
type pageVersion struct {
	codes  *fault.Registry
	policy *policy.Policy
	day    time.Time // for examples, which name tomorrow
}

// cachedPage is a page, with [reference.Server] where it names the server.
type cachedPage struct {
	once sync.Once
	err  error
	body []byte
	file *webfile.File // nil: it names the server
}

// hostPage is a page as it is served at an address.
type hostPage struct{ name, origin string }

// maxHostPages bounds the pages that are kept as they are served: a caller can make up hosts.
const maxHostPages = 64

const mediaPage = "text/html; charset=utf-8"

func newPageCache() *pageCache {
	return &pageCache{pages: map[string]*cachedPage{}, hosts: map[hostPage]*webfile.File{}}
}

// pageVersion is the current one.
func (a *API) pageVersion() pageVersion {
	return pageVersion{a.Registrar.Codes(), a.Engine.Policies.Current(), a.Now().UTC().Truncate(24 * time.Hour)}
}

// page returns the page of a name for callers at an address, and whether it had to be written
// for that address. The name must be that of a page that there is.
func (c *pageCache) page(v pageVersion, name, media, origin string, render func() ([]byte, error)) (_ *webfile.File, written bool, err error) {
	c.mu.Lock()
	if c.version != v {
		c.version = v
		clear(c.pages)
		clear(c.hosts)
	}
	p := c.pages[name]
	if p == nil {
		p = &cachedPage{}
		c.pages[name] = p
	}
	file := c.hosts[hostPage{name, origin}]
	c.mu.Unlock()
	if file != nil {
		return file, false, nil
	}
	p.once.Do(func() { c.render(p, media, render) })
	if p.err != nil {
		c.forget(name, p)
	}
	if p.err != nil || p.file != nil {
		return p.file, false, p.err
	}
	file = webfile.New(media, webfile.Revalidate, bytes.ReplaceAll(p.body, []byte(reference.Server), []byte(html.EscapeString(origin))))
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.hosts) >= maxHostPages {
		clear(c.hosts)
	}
	if c.version == v {
		c.hosts[hostPage{name, origin}] = file
	}
	return file, true, nil
}

func (c *pageCache) render(p *cachedPage, media string, render func() ([]byte, error)) {
	c.rendered.Add(1)
	p.body, p.err = render()
	if p.err == nil && !bytes.Contains(p.body, []byte(reference.Server)) {
		p.file = webfile.New(media, webfile.Revalidate, p.body)
	}
}

// forget has a page that could not be rendered be rendered again.
func (c *pageCache) forget(name string, p *cachedPage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pages[name] == p {
		delete(c.pages, name)
	}
}

// found is what is at an address that anybody can read: a file, or another address.
type found struct {
	file     *webfile.File
	location string
}

// readable makes the handler of what anybody can read. Its slot is left before the answer is
// written, so that a caller that reads slowly holds none.
func (a *API) readable(cost func(*http.Request) int, find func(*http.Request) (found, error)) http.Handler {
	return fault.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		leave, err := a.Anonymous(r, cost(r))
		if err != nil {
			return err
		}
		at, err := find(r)
		leave()
		if err != nil {
			return err
		}
		if at.file == nil {
			w.Header().Set("Location", at.location)
			w.WriteHeader(http.StatusFound)
			return nil
		}
		if at.file.Media() == mediaPage {
			w.Header().Set("Content-Security-Policy", pagePolicy)
			w.Header().Set("Referrer-Policy", "no-referrer")
		}
		a.AllowWrite(w, at.file.Size())
		at.file.Serve(w, r)
		return nil
	})
}

func aPage(*http.Request) int { return httpapi.CostPage }
