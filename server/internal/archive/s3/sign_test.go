package s3

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The examples of AWS's own documentation: Amazon S3 API Reference, "Signature Calculations
// for the Authorization Header: Transferring Payload in a Single Chunk", with the key that
// it made up for them.
func TestSignaturesOfTheDocumentation(t *testing.T) {
	t.Parallel()
	who := credentials{id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	now := time.Date(2013, 5, 24, 2, 0, 0, 0, time.FixedZone("east", 2*60*60))
	for _, row := range []struct {
		name, method, path, payload string
		query                       [][2]string
		header                      http.Header
		want                        string
	}{
		{"get an object", "GET", "/test.txt", "", nil, http.Header{"Range": {"bytes=0-9"}},
			"host;range;x-amz-content-sha256;x-amz-date,Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		{"put an object", "PUT", "/test$file.text", "Welcome to Amazon S3.", nil,
			http.Header{"Date": {"Fri, 24 May 2013 00:00:00 GMT"}, "X-Amz-Storage-Class": {"REDUCED_REDUNDANCY"}},
			"date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class,Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
		{"a parameter without a value", "GET", "/", "", [][2]string{{"lifecycle", ""}}, nil,
			"host;x-amz-content-sha256;x-amz-date,Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
		{"list objects", "GET", "/", "", [][2]string{{"prefix", "J"}, {"max-keys", "2"}}, nil,
			"host;x-amz-content-sha256;x-amz-date,Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), row.method, "https://examplebucket.s3.amazonaws.com", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.URL.Path, r.URL.RawPath, r.URL.RawQuery = row.path, escape(row.path, true), escapeQuery(row.query)
		for name, list := range row.header {
			r.Header[name] = list
		}
		payload := sha256.Sum256([]byte(row.payload))
		sign(r, who, "us-east-1", payload[:], now)
		want := "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=" + row.want
		if got := r.Header.Get("Authorization"); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", row.name, got, want)
		}
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	if got := escape("a b/c+d~é%", true); got != "a%20b/c%2Bd~%C3%A9%25" {
		t.Error(got)
	}
	if got := escapeQuery([][2]string{{"prefix", "a/b c"}, {"delimiter", "/"}}); got != "delimiter=%2F&prefix=a%2Fb%20c" || strings.Contains(got, "+") {
		t.Error(got)
	}
}
