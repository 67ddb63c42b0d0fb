package s3

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	algorithm  = "AWS4-HMAC-SHA256"
	stampTime  = "20060102T150405Z"
	stampDay   = "20060102"
	headerDate = "X-Amz-Date"
	headerSum  = "X-Amz-Content-Sha256"
	headerName = "Authorization"
)

// sign adds who asks to a request (Signature Version 4, in a header). All headers that the
// request has by then are signed, with the checksum of the body.
func sign(r *http.Request, c credentials, region string, payload []byte, now time.Time) {
	now = now.UTC()
	r.Header.Set(headerDate, now.Format(stampTime))
	r.Header.Set(headerSum, hex.EncodeToString(payload))
	if c.token != "" {
		r.Header.Set("X-Amz-Security-Token", c.token)
	}
	text, signed := canonical(r)
	scope := strings.Join([]string{now.Format(stampDay), region, "s3", "aws4_request"}, "/")
	digest := sha256.Sum256([]byte(text))
	toSign := strings.Join([]string{algorithm, now.Format(stampTime), scope, hex.EncodeToString(digest[:])}, "\n")
	key := []byte("AWS4" + c.secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(key, part)
	}
	r.Header.Set(headerName, algorithm+" Credential="+c.id+"/"+scope+",SignedHeaders="+signed+",Signature="+hex.EncodeToString(mac(key, toSign)))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// canonical is a request as both sides write it, and the names of the headers in it.
func canonical(r *http.Request) (text, signed string) {
	values := map[string]string{"host": r.URL.Host}
	names := []string{"host"}
	for name, list := range r.Header {
		name = strings.ToLower(name)
		names = append(names, name)
		values[name] = strings.TrimSpace(strings.Join(list, ","))
	}
	slices.Sort(names)
	var headers strings.Builder
	for _, name := range names {
		headers.WriteString(name + ":" + values[name] + "\n")
	}
	signed = strings.Join(names, ";")
	return strings.Join([]string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, headers.String(), signed, values[strings.ToLower(headerSum)]}, "\n"), signed
}

const hexDigits = "0123456789ABCDEF"

// escape writes text as Signature Version 4 wants it, which net/url does not: all but
// letters, digits and four signs is percent-encoded. In a path slashes stay.
func escape(text string, path bool) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 || path && c == '/' {
			b.WriteByte(c)
			continue
		}
		b.WriteString("%" + string(hexDigits[c>>4]) + string(hexDigits[c&15]))
	}
	return b.String()
}

// escapeQuery writes the parameters of a query, sorted.
func escapeQuery(query [][2]string) string {
	parts := make([]string, 0, len(query))
	for _, q := range query {
		parts = append(parts, escape(q[0], false)+"="+escape(q[1], false))
	}
	slices.Sort(parts)
	return strings.Join(parts, "&")
}
