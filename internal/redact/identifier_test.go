package redact

import "testing"

// Characters that are shown as nothing, or alike, are refused: noncharacters, private use and
// unassigned ones. Letters, marks and symbols of any script may identify something.
func TestUnassignedCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []rune{0xffff, 0xfffe, 0xfdd0, 0x1fffe, 0x10ffff, 0xe000, 0xf8ff, 0xf0000, 0x100000, 0x0378, 0x1fffd} {
		if refusal := Default().CheckIdentifier("CO-"+string(c)+"1", 200); refusal == nil || refusal.Constraint != "visible" {
			t.Errorf("%U: %v", c, refusal)
		}
	}
	for _, name := range []string{"CO-20260205-000017", "Zoë", "株式会社", "شركة", "e\u0301", "Ⅳ", "№ 7", "€", "🏭"} {
		if refusal := Default().CheckIdentifier(name, 200); refusal != nil {
			t.Errorf("%s: %s", name, refusal.Message)
		}
	}
}

// TestSecretsAreNoIdentifiers checks secrets that have the form of a name or an address.
func TestSecretsAreNoIdentifiers(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"4242:4242:4242:4242", "4242,4242,4242,4242", "4242|4242|4242|4242", "42424242-42424242", "live_dHar4XY7LxsDOtmnkVtjNVWXLSlXsM"} {
		if refusal := Default().CheckIdentifier(secret, 200); refusal == nil || refusal.Constraint != NoSecret {
			t.Errorf("%s: %v", secret, refusal)
		}
	}
	for _, name := range []string{"4242:4242:4242:4242:4242", "4242,4243,4244,4245", "20261118-10153012", "00000000-0000-0000-be04-100457000972", "live_stream_recorder_configuration", "test_0000000000000000000000000"} {
		if refusal := Default().CheckIdentifier(name, 200); refusal != nil {
			t.Errorf("%s: %s", name, refusal.Message)
		}
	}
}
