package redact

import (
	"math/rand/v2"
	"testing"
)

// TestByChance draws keys in the alphabets of base 62, base 64 and its variant for addresses.
// How many are missed depends on the length alone.
func TestByChance(t *testing.T) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	for _, test := range []struct {
		length, missed int // of 10,000
	}{{16, 250}, {20, 30}, {24, 10}, {32, 3}, {40, 1}} {
		for _, alphabet := range []string{letters, letters + "+/", letters + "-_"} {
			random := rand.New(rand.NewPCG(uint64(test.length), uint64(len(alphabet))))
			missed, last := 0, ""
			for range 10_000 {
				key := make([]byte, test.length)
				for i := range key {
					key[i] = alphabet[random.IntN(len(alphabet))]
				}
				if !machineMade(string(key), longHex) {
					missed, last = missed+1, string(key)
				}
			}
			if missed > test.missed {
				t.Errorf("%d of 10,000 keys of %d characters of %d are not seen as made by a machine, want at most %d; the last is %q",
					missed, test.length, len(alphabet), test.missed, last)
			}
		}
	}
}

// TestNotByChance has names as programs print them next to a word for a secret.
func TestNotByChance(t *testing.T) {
	for _, name := range []string{
		"OAuth2TokenValidator", "Http2ConnectionPoolManager", "Base64UrlSafeDecoderStream", "SecretKeyFactorySpi",
		"com.example.auth.ApiKeyAuthenticationFilter", "AWSSecretsManagerClientV2", "X509CertificateAndKeyParser",
		"org.springframework.security.oauth2.JwtDecoder", "System.Security.Cryptography.RSACryptoServiceProvider",
		"KMSMasterKeyProvider", "AzureADTokenCredentialProvider", "src/Security/PasswordHasher", "TestSignPKCS1v15", "users_Password_key",
		"PBKDF2WithHmacSHA256Factory", "GoogleIdTokenVerifier", "IllegalArgumentException", "NoSuchAlgorithmException",
	} {
		if byChance(name) {
			t.Errorf("%s: taken for a key", name)
		}
	}
}
