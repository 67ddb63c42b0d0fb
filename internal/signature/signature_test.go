package signature_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/internal/signature"
)

// What was signed is what is verified: this body, this secret, about this time.
func TestVerify(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	body := []byte(`{"work_id":1}`)
	good := signature.Sign([]byte("secret"), at.Unix(), body)
	// As openssl computes it: printf '1770022800.{"work_id":1}' | openssl dgst -sha256 -hmac secret
	const known = "t=1770022800,v1=fca9815f6996d08416739ebf2b2b94ccd0be7a11679d57296e22e70c3107554b"
	if good != known {
		t.Fatalf("the signature is %s", good)
	}
	other := "0"
	if strings.HasSuffix(good, "0") {
		other = "1"
	}
	for _, row := range []struct {
		name   string
		secret string
		header string
		body   string
		after  time.Duration
		want   error
	}{
		{"as it was signed", "secret", good, string(body), 0, nil},
		{"five minutes later", "secret", good, string(body), 5 * time.Minute, nil},
		{"by a clock that is behind", "secret", good, string(body), -5 * time.Minute, nil},
		{"too late", "secret", good, string(body), 5*time.Minute + 1, signature.ErrStale},
		{"too early", "secret", good, string(body), -5*time.Minute - 1, signature.ErrStale},
		{"another secret", "Secret", good, string(body), 0, signature.ErrInvalid},
		{"another secret, too late", "Secret", good, string(body), time.Hour, signature.ErrInvalid},
		{"another body", "secret", good, string(body) + " ", 0, signature.ErrInvalid},
		{"another time", "secret", strings.Replace(good, "t=1", "t=2", 1), string(body), 0, signature.ErrInvalid},
		{"another digit", "secret", good[:len(good)-1] + other, string(body), 0, signature.ErrInvalid},
		{"shortened", "secret", good[:len(good)-2], string(body), 0, signature.ErrInvalid},
		{"nothing", "secret", "", string(body), 0, signature.ErrInvalid},
		{"no signature", "secret", "t=1770022800", string(body), 0, signature.ErrInvalid},
		{"an empty signature", "secret", "t=1770022800,v1=", string(body), 0, signature.ErrInvalid},
		{"no time", "secret", strings.TrimPrefix(good, "t=1770022800,"), string(body), 0, signature.ErrInvalid},
		{"no digits", "secret", "t=1770022800,v1=zz", string(body), 0, signature.ErrInvalid},
		{"another version", "secret", strings.Replace(good, "v1=", "v2=", 1), string(body), 0, signature.ErrInvalid},
	} {
		if err := signature.Verify([]byte(row.secret), row.header, []byte(row.body), at.Add(row.after), 5*time.Minute); !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", row.name, err, row.want)
		}
	}
	words := signature.Sign([]byte("secret"), 0, nil)
	if err := signature.Verify([]byte("secret"), words, nil, time.Unix(0, 0), 0); err != nil {
		t.Errorf("of nothing, with no tolerance: %v", err)
	}
}

// Whatever comes as a header is refused and does no harm.
func FuzzVerify(f *testing.F) {
	for _, s := range []string{"", "t=,v1=", "t=1,v1=00", "t=99999999999999999999,v1=ff", ",,,", "v1=00,t=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		if err := signature.Verify([]byte("a secret that nobody guesses"), header, []byte("body"), time.Unix(0, 0), time.Hour); err == nil {
			t.Errorf("%q is accepted", header)
		}
	})
}
