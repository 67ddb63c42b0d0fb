package redact

import (
	"bytes"
	"crypto/sha256"
	"strings"
)

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// findWIF looks for the private keys of Bitcoin in the wallet import format, whose check
// sum is right. A run of letters shorter than a key is stepped over in one go.
func findWIF(s string, f finding) finding {
	const shortest, longest = 51, 52
	for i := shortest - 1; i < len(s); {
		if !alphanumeric(s[i]) {
			i += shortest
			continue
		}
		from, to := i, i
		for from > 0 && i-from < longest && alphanumeric(s[from-1]) {
			from--
		}
		for to < len(s) && alphanumeric(s[to]) {
			to++
		}
		f.work += to - from
		if n := to - from; n >= shortest && n <= longest && strings.IndexByte("5KL", s[from]) >= 0 && base58Checks(s[from:to]) {
			f.add(from, to)
		}
		i = to + shortest
	}
	return f
}

// base58Checks reads a number in base 58 and compares its last four bytes with the check
// sum of the others.
func base58Checks(v string) bool {
	var raw [40]byte
	for i := range len(v) {
		carry := strings.IndexByte(base58, v[i])
		if carry < 0 {
			return false
		}
		for k := len(raw) - 1; k >= 0; k-- {
			carry += int(raw[k]) * 58
			raw[k], carry = byte(carry), carry>>8
		}
		if carry > 0 {
			return false
		}
	}
	body := bytes.TrimLeft(raw[:], "\x00")
	if len(body) != 37 && len(body) != 38 { // with the mark of a compressed key
		return false
	}
	first := sha256.Sum256(body[:len(body)-4])
	second := sha256.Sum256(first[:])
	return bytes.Equal(second[:4], body[len(body)-4:])
}
