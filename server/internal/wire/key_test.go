package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

func TestKeysKeepTheirHash(t *testing.T) {
	b, err := json.Marshal(wire.Key{Name: "ada", Hash: [32]byte{211, 212, 213}})
	if err != nil || strings.Contains(string(b), "211") || !strings.Contains(string(b), "ada") {
		t.Errorf("%s, %v", b, err)
	}
}
