package redact

import (
	"strings"
	"testing"
)

// namedSecrets are names whose opaque values are secrets.
const namedSecrets = `master_key masterKey app_key hmac_key secret_key_base storage_key consumer_key server_key deploy_key ssh_key kms_key
	subscription_key Ocp-Apim-Subscription-Key license_key recovery_code backup_code verification_code mfa_code storepass keypass adminpass
	secret_answer connection_string creds mnemonic seed magic_link user_password__c sid csrf MASTER_KEY masterkey jwt_key sessionKey
	x-functions-key tls_key rails_master_key secretKeyBase connectionString pre_shared_key userpass login_link seedPhrase totp_seed
	recoveryCodes auth_code _csrf enc_key userPin`

// TestTellingNames wants an opaque value redacted under every name and in every notation.
func TestTellingNames(t *testing.T) {
	t.Parallel()
	const secret = "q9ZlmXw3Rt7yBv2nCx5s" + "Df8gHj1kLp0Zx9Yw8Vu7"
	for _, notation := range []string{
		"failed NAME=VALUE", `{"NAME":"VALUE"}`, `{"a":"b","NAME": "VALUE"}`, `{"NAME":["VALUE"]}`, `"{\"NAME\":\"VALUE\"}"`, "NAME: VALUE", "NAME := 'VALUE'", "--NAME VALUE",
		"<NAME>VALUE</NAME>", "?a=1&NAME=VALUE&b=2", "NAME%3DVALUE", "'NAME' => 'VALUE'", `sort_key={"NAME":"VALUE"}`,
	} {
		for name := range strings.FieldsSeq(namedSecrets) {
			text := strings.NewReplacer("NAME", name, "VALUE", secret).Replace(notation)
			clean, evidence := Default().String(text)
			if strings.Contains(clean, secret[4:20]) || len(evidence) == 0 {
				t.Errorf("%q became %q", text, clean)
			}
			if again, more := Default().String(clean); again != clean || more != nil {
				t.Errorf("%q cleaned twice: %q became %q", text, clean, again)
			}
		}
	}
	for name := range strings.FieldsSeq(namedSecrets) {
		if clean, _ := Default().Value(map[string]any{name: secret}); clean.(map[string]any)[name] == secret {
			t.Errorf("%s is kept", name)
		}
	}
}

// TestShortSecretsUnderNames has values that are secrets only because of their names.
func TestShortSecretsUnderNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{
		{"mfa_code=123456", "mfa_code=[redacted:secret]"},
		{`"verification_code":"558201"`, `"verification_code":"[redacted:secret]"`},
		{`"backup_codes":["12345678","87654321"]`, `"backup_codes":[[redacted:secret]]`},
		{`"recovery_codes":["a1b2c-3d4e5"]`, `"recovery_codes":[[redacted:secret]]`},
		{"storepass=changeit", "storepass=[redacted:secret]"},
		{"secret_answer=Fluffy", "secret_answer=[redacted:secret]"},
		{`"secret_answer":"my first dog"`, `"secret_answer":"[redacted:secret]"`},
		{"license_key=ABCDE-12345-FGHIJ-67890", "license_key=[redacted:secret]"},
		{"userPin=1234", "userPin=[redacted:password]"},
	} {
		if got, _ := Default().String(test.in); got != test.want {
			t.Errorf("%q became %q, want %q", test.in, got, test.want)
		}
	}
}

// TestLongSecretIsTakenWhole has a value that is longer than what is judged of it.
func TestLongSecretIsTakenWhole(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"master_key=X next", `"master_key":"X" next`, `"master_key":["X"] next`} {
		clean, _ := Default().String(strings.Replace(text, "X", strings.Repeat("q9ZlmXw3Rt7", 100), 1))
		if len(clean) > 60 || !strings.HasSuffix(clean, " next") {
			t.Errorf("%q became %q", text, clean)
		}
	}
}

// The verification value of a card is a secret in prose too; its look-alikes stay.
func TestCardVerificationValues(t *testing.T) {
	for _, text := range []string{
		"card 4111 1111 1111 1111 cvv 837", "CVC: 837", "cvv is 837", "cvv2 8371", "CVC2 code 837", "the CSC is 837", "csc: 8371", "csc code 837",
	} {
		if got, _ := Default().String(text); strings.Contains(got, "837") {
			t.Errorf("%q is kept as %q", text, got)
		}
	}
	for _, text := range []string{
		"cvv 3 digits expected", "cvc 12 of 40 failed", "the CVC check failed 404 times", "cvv 2.4.1", "csc 404 not found", "cvv 100 times", "pin 404 is high", "csc exited with 134",
	} {
		if got, _ := Default().String(text); got != text {
			t.Errorf("%q is kept as %q", text, got)
		}
	}
}
