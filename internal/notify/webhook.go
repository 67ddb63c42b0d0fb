package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
)

// The headers of a webhook's request.
const (
	SignatureHeader = "Recoup-Signature"
	IDHeader        = "Idempotency-Key"
)

// webhook posts messages as they are, signed.
type webhook struct {
	*poster
	secret []byte
}

// Send posts the message. Its id comes in a header too, so that whoever has seen it
// can tell without reading on; the signature covers the time and the body, so that
// it can neither be made up nor be used again later.
func (w *webhook) Send(ctx context.Context, m *Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return unwritable()
	}
	_, err = w.post(ctx, body, map[string]string{
		IDHeader: m.ID.String(), SignatureHeader: Sign(w.secret, w.now().Unix(), body),
	})
	return err
}

// Sign returns the signature of a body: t=<seconds>,v1=<HMAC-SHA256 over
// "<seconds>.<body>" in hexadecimal digits>.
func Sign(secret []byte, at int64, body []byte) string {
	t := strconv.FormatInt(at, 10)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(t + "."))
	mac.Write(body)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}
