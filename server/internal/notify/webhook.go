package notify

import (
	"context"
	"encoding/json"

	"github.com/recoup-dev/recoup/internal/signature"
)

// The headers of a webhook's request.
const (
	SignatureHeader = signature.Header
	IDHeader        = "Idempotency-Key"
)

// webhook posts messages as they are, signed.
type webhook struct {
	*poster
	secret []byte
}

// Send posts the message. Its id comes in a header too, so that whoever has seen it
// can see it without reading on; the signature covers the time and the body, so that
// it can neither be made up nor be used again later.
func (w *webhook) Send(ctx context.Context, m *Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return unwritable()
	}
	_, err = w.post(ctx, body, map[string]string{
		IDHeader: m.ID.String(), SignatureHeader: signature.Sign(w.secret, w.now().Unix(), body),
	})
	return err
}
