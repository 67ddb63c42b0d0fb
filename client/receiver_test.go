package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/client"
)

const deliverySignature = "t=1770022800,v1=fca9815f6996d08416739ebf2b2b94ccd0be7a11679d57296e22e70c3107554b"

// A signature holds for five minutes unless somebody says otherwise.
func TestVerifySignature(t *testing.T) {
	t.Parallel()
	at, body := time.Unix(1770022800, 0), []byte(`{"work_id":1}`)
	for _, row := range []struct {
		secret    string
		after     time.Duration
		tolerance time.Duration
		want      error
	}{
		{"secret", client.SignatureTolerance, 0, nil},
		{"secret", client.SignatureTolerance + time.Second, 0, client.ErrStaleSignature},
		{"secret", time.Hour, time.Hour, nil},
		{"secret", time.Minute, time.Second, client.ErrStaleSignature},
		{"another", 0, 0, client.ErrSignature},
	} {
		if err := client.VerifySignature(row.secret, deliverySignature, body, at.Add(row.after), row.tolerance); !errors.Is(err, row.want) {
			t.Errorf("%+v: %v", row, err)
		}
	}
}

// A receiver checks the signature before it looks at anything else, does the work, and
// answers with its result.
func ExampleVerifySignature() {
	const secret = "secret" // from the receiver's own configuration
	now := func() time.Time { return time.Unix(1770022800, 0) }
	receive := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil || client.VerifySignature(secret, r.Header.Get(client.SignatureHeader), body, now(), 0) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusNoContent) // the work is done
	}
	for _, body := range []string{`{"work_id":1}`, `{"work_id":2}`} {
		r, w := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)), httptest.NewRecorder()
		r.Header.Set(client.SignatureHeader, deliverySignature)
		receive(w, r)
		fmt.Println(body, w.Code)
	}
	// Output:
	// {"work_id":1} 204
	// {"work_id":2} 401
}
