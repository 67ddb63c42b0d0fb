package s3_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/archive/s3"
	"github.com/recoup-dev/recoup/server/internal/archive/s3/s3test"
)

func open(t *testing.T, address string, getenv func(string) string, ahead time.Duration) *s3.Bucket {
	t.Helper()
	b, err := s3.Open(s3.Options{Address: address, Getenv: getenv, Now: func() time.Time { return now().Add(ahead) },
		Retry: func(o *retry.Options) { o.Sleep = func(context.Context, time.Duration) error { return nil } }})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// now is the real time, by which a server judges a signature.
var now = time.Now

func sum(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:])
}

func put(t *testing.T, b *s3.Bucket, name, text string) error {
	t.Helper()
	return b.Put(t.Context(), name, strings.NewReader(text), int64(len(text)), sum(text))
}

// What is put is there, whole, under its name alone, and stays what it is.
func TestObjects(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t, "acme")
	b := open(t, "s3://acme/some files/ä+b", server.Getenv(), 0)
	if names, err := b.List(t.Context(), ""); err != nil || len(names) > 0 {
		t.Fatalf("a new place has %v, %v", names, err)
	}
	for _, name := range []string{"b", "a~$&=+ ü.parquet", "c"} {
		if err := put(t, b, name, "text of "+name); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got bytes.Buffer
		if err := b.Get(t.Context(), name, int64(len("text of "+name)), &got); err != nil || got.String() != "text of "+name {
			t.Errorf("%s has %q, %v", name, &got, err)
		}
	}
	info, err := b.Head(t.Context(), "b")
	if err != nil || info != (s3.Info{Size: 9, SHA256: sum("text of b")}) {
		t.Errorf("%+v, %v", info, err)
	}
	if err := put(t, b, "b", "text of b"); err != nil {
		t.Errorf("the same once more: %v", err)
	}
	if err := put(t, b, "b", "another"); !errors.Is(err, s3.ErrExists) || !strings.Contains(err.Error(), "s3://acme/some files/ä+b: b: ") {
		t.Errorf("another of that name: %v", err)
	}
	if names, err := b.List(t.Context(), ""); err != nil || !slices.Equal(names, []string{"a~$&=+ ü.parquet", "b", "c"}) {
		t.Errorf("%q, %v", names, err)
	}
	if err := errors.Join(b.Delete(t.Context(), "b"), b.Delete(t.Context(), "b")); err != nil {
		t.Error(err)
	}
	_, headed := b.Head(t.Context(), "b")
	if err := b.Get(t.Context(), "b", 100, &bytes.Buffer{}); !errors.Is(err, os.ErrNotExist) || !errors.Is(headed, os.ErrNotExist) {
		t.Errorf("%v, %v", err, headed)
	}
}

// A server that stores something else than what it was sent is found out, and so is a
// change afterwards.
func TestVerify(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t, "acme")
	b := open(t, "s3://acme", server.Getenv(), 0)
	if err := b.Put(t.Context(), "a", strings.NewReader("as it is"), 8, sum("as it is not")); err == nil {
		t.Error("a checksum that is wrong was taken")
	}
	if err := put(t, b, "a", "as it is"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(server.Path("acme", "a"), []byte("as it was"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.Verify(t.Context(), "a", 8, sum("as it is")); !errors.Is(err, s3.ErrDiffers) {
		t.Error(err)
	}
}

// A list has as many pages as it needs.
func TestPages(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t, "acme")
	b := open(t, "s3://acme/p", server.Getenv(), 0)
	if err := put(t, b, "n-0000", ""); err != nil {
		t.Fatal(err)
	}
	want := []string{"n-0000"}
	for i := 1; i < 2345; i++ {
		want = append(want, fmt.Sprintf("n-%04d", i))
		if err := os.WriteFile(server.Path("acme", "p/"+want[i]), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := b.List(t.Context(), "n-"); err != nil || !slices.Equal(got, want) {
		t.Errorf("%d of %d names, %v", len(got), len(want), err)
	}
	if got, err := b.List(t.Context(), "n-23"); err != nil || len(got) != 45 {
		t.Errorf("%d names, %v", len(got), err)
	}
}

// Each refusal of a real server says what is wrong and the way out, without a secret.
func TestRefusals(t *testing.T) {
	t.Parallel()
	server := s3test.Start(t, "acme")
	for _, row := range []struct {
		name, address, change string
		ahead                 time.Duration
		want                  string
	}{
		{"no bucket", "s3://other", "", 0, `has no bucket "other": create it, or name another`},
		{"another key", "s3://acme", "AWS_ACCESS_KEY_ID=wrong", 0, "does not know the key wrong: correct AWS_ACCESS_KEY_ID"},
		{"another secret", "s3://acme", "AWS_SECRET_ACCESS_KEY=hush-hush", 0, "the secret of the key recoup-test is not the one that"},
		{"another region", "s3://acme", "AWS_REGION=us-west-7", 0, "the bucket is in the region eu-test-1, and was asked for in us-west-7: set AWS_REGION=eu-test-1"},
		{"a clock ahead", "s3://acme", "", time.Hour, "the clocks differ: it is "},
		{"nobody there", "s3://acme", "AWS_ENDPOINT_URL_S3=http://127.0.0.1:1", 0, "no answer from http://127.0.0.1:1: dial tcp"},
	} {
		b := open(t, row.address, server.Getenv(row.change), row.ahead)
		_, listed := b.List(t.Context(), "")
		written := put(t, b, "a", "text")
		for _, err := range []error{listed, written} {
			if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "Signature=") || strings.Contains(err.Error(), s3test.Secret) {
				t.Errorf("%s: %v", row.name, err)
			}
		}
	}
}

// What real servers do only on bad days: answers that were recorded in their documentation.
func TestBadDays(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		status int
		body   string
		times  int // so often, then 200
		want   string
	}{
		{"slow down", 503, "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>", 2, ""},
		{"slow down for long", 503, "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>", 100, "s3://acme: GET of the list was refused: 503 SlowDown, Please reduce your request rate. (tried 4 times)"},
		{"internal", 500, "", 1, ""},
		{"redirect", 301, "<Error><Code>PermanentRedirect</Code><Endpoint>acme.s3.eu-west-1.amazonaws.com</Endpoint></Error>", 100, "does not serve the bucket in the region us-east-1 (301 PermanentRedirect): set AWS_REGION"},
		{"malformed", 400, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>", 100, "set AWS_REGION=eu-west-1"},
		{"denied", 403, "<Error><Code>AccessDenied</Code></Error>", 100, "access denied to GET with the key k: it needs s3:ListBucket"},
		{"expired", 400, "<Error><Code>ExpiredToken</Code></Error>", 100, "set AWS_SESSION_TOKEN to a new one"},
		{"no S3", 404, "<html>not found", 100, "GET of the list was refused: 404 Not Found"},
	} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked++; asked > row.times {
				_, _ = w.Write([]byte("<ListBucketResult/>"))
				return
			}
			w.WriteHeader(row.status)
			_, _ = w.Write([]byte(row.body))
		}))
		b := open(t, "s3://acme", getenv(server.URL), 0)
		_, err := b.List(t.Context(), "")
		server.Close()
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

// A server that overwrites what it was asked to keep is refused before anything is put.
func TestUnconditional(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, r.Method+r.URL.Path)
	}))
	defer server.Close()
	b := open(t, "s3://acme", getenv(server.URL), 0)
	if err := put(t, b, "a", "text"); err == nil || !strings.Contains(err.Error(), "If-None-Match") || slices.Contains(paths, "PUT/acme/a") {
		t.Errorf("%v after %v", err, paths)
	}
}

// An object that is larger than its limit is refused after one request, and no more than the
// limit is written, whether the store announces its length or not.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	for _, announced := range []bool{true, false} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			if announced {
				w.Header().Set("Content-Length", "11")
			}
			for range 11 {
				_, _ = w.Write([]byte("x"))
				_ = http.NewResponseController(w).Flush()
			}
		}))
		b := open(t, "s3://acme", getenv(server.URL), 0)
		var got bytes.Buffer
		err := b.Get(t.Context(), "a", 10, &got)
		if !errors.Is(err, s3.ErrTooLarge) || !strings.Contains(err.Error(), "s3://acme/a: the object is larger than expected: more than 10 bytes") || got.Len() > 10 || asked != 1 {
			t.Errorf("announced %v: %v; written %d bytes after %d requests", announced, err, got.Len(), asked)
		}
		if err := b.Get(t.Context(), "a", 11, &got); err != nil || got.Len() != 11 {
			t.Errorf("announced %v: %d bytes, %v", announced, got.Len(), err)
		}
		server.Close()
	}
}

func getenv(url string) func(string) string {
	return func(name string) string {
		return map[string]string{"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}[name]
	}
}
