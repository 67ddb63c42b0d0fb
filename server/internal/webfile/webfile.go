// Package webfile serves bytes that are the same for every caller: pages that were rendered
// once, scripts and styles. It answers If-None-Match, and sends gzip to callers that accept it.
// It knows nothing of what the bytes are.
package webfile

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Values of Cache-Control.
const (
	Revalidate = "no-cache"                            // a browser asks each time whether it has changed
	Immutable  = "public, max-age=31536000, immutable" // its name changes with its content
)

// minPacked is the size from which on gzip is worth its header.
const minPacked = 1 << 10

// File is content that does not change. It is safe for concurrent use.
type File struct {
	media, cache, etag string
	body               []byte

	asked  atomic.Int64
	pack   sync.Once
	packed []byte // empty: gzip does not make it smaller
}

// New returns a file of a media type. The body must not be changed any more.
func New(media, cache string, body []byte) *File {
	sum := sha256.Sum256(body)
	return &File{media: media, cache: cache, etag: `W/"` + hex.EncodeToString(sum[:12]) + `"`, body: body}
}

// Media is the media type of the content.
func (f *File) Media() string { return f.media }

// Size is that of the content.
func (f *File) Size() int { return len(f.body) }

// Serve answers a GET or HEAD request. The content is compressed once, when it is asked for the
// second time: what is asked for once is not worth it.
func (f *File) Serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.media)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", f.cache)
	h.Set("Etag", f.etag)
	h.Add("Vary", "Accept-Encoding")
	if f.matches(r.Header.Values("If-None-Match")) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.body
	if accepts(r.Header.Values("Accept-Encoding")) && f.asked.Add(1) > 1 {
		f.pack.Do(f.compress)
		if len(f.packed) > 0 {
			body = f.packed
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // it fails when the caller has gone
}

func (f *File) compress() {
	if len(f.body) < minPacked {
		return
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(f.body)
	if err == nil && w.Close() == nil && b.Len() < len(f.body) {
		f.packed = b.Bytes()
	}
}

// matches reports whether the caller has the content already.
func (f *File) matches(said []string) bool {
	for tag := range strings.SplitSeq(strings.Join(said, ","), ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || "W/"+strings.TrimPrefix(tag, "W/") == f.etag {
			return true
		}
	}
	return false
}

// accepts reports whether a caller takes gzip.
func accepts(said []string) bool {
	for coding := range strings.SplitSeq(strings.Join(said, ","), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		q, ok := strings.CutPrefix(strings.TrimSpace(weight), "q=")
		value, err := strconv.ParseFloat(q, 64)
		return !ok || err == nil && value > 0
	}
	return false
}
