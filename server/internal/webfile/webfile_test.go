package webfile_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/webfile"
)

func ask(f *webfile.File, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	f.Serve(w, r)
	return w
}

// Content is sent as it is, compressed to callers that accept that, and not at all to callers
// that have it.
func TestServe(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("the same line again\n", 200)
	f := webfile.New("text/plain", webfile.Revalidate, []byte(text))
	plain := ask(f)
	if plain.Body.String() != text || plain.Header().Get("Content-Encoding") != "" || plain.Header().Get("Cache-Control") != "no-cache" || plain.Header().Get("Vary") != "Accept-Encoding" {
		t.Errorf("plain: %d bytes, %v", plain.Body.Len(), plain.Header())
	}
	for _, accept := range []string{"gzip", "br, gzip;q=0.5", "GZIP ; q=1"} {
		ask(f, "Accept-Encoding", accept)
		packed := ask(f, "Accept-Encoding", accept)
		if packed.Header().Get("Content-Encoding") != "gzip" || packed.Body.Len() > len(text)/10 {
			t.Fatalf("%s: %d bytes, %v", accept, packed.Body.Len(), packed.Header())
		}
		unpack, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := io.ReadAll(unpack); err != nil || string(back) != text {
			t.Errorf("%s: %d bytes come back: %v", accept, len(back), err)
		}
	}
	for _, accept := range []string{"", "br", "gzip;q=0", "identity"} {
		if got := ask(f, "Accept-Encoding", accept); got.Body.String() != text {
			t.Errorf("%q: %v", accept, got.Header())
		}
	}
	tag := plain.Header().Get("Etag")
	for _, has := range []string{tag, strings.TrimPrefix(tag, "W/"), `"x", ` + tag, "*"} {
		if got := ask(f, "If-None-Match", has); got.Code != http.StatusNotModified || got.Body.Len() > 0 {
			t.Errorf("If-None-Match: %s is answered %d with %d bytes", has, got.Code, got.Body.Len())
		}
	}
	if got := ask(f, "If-None-Match", `"another"`); got.Code != http.StatusOK {
		t.Errorf("another tag is answered %d", got.Code)
	}
}
