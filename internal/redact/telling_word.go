package redact

import "strings"

// The roles of words between a telling word and its value.
const (
	links = 1 + iota // says nothing of what follows: "invalid", "value"
	gives            // says that a value was given: "provided", "is"
	names            // says whose it is: "for user ada"
)

// maxConnector is the length of the longest connector.
const maxConnector = 12

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

var (
	// connectors are the words that may stand between a telling word and its value.
	connectors = func() map[string]int {
		roles := map[string]int{}
		for role, words := range map[int]string{
			links: "invalid incorrect wrong bad rejected revoked expired unknown unrecognized unrecognised malformed not found valid value string has been the a now to too " +
				"with in request header failed refused denied error mismatch unauthorized compromised leaked exposed of and phrase plaintext hex base raw secret token key seed",
			gives: "provided supplied given sent used received entered specified presented submitted passed is was are set changed reset updated using got ist lautet war est es",
			names: "for für pour para per voor",
		} {
			for word := range strings.FieldsSeq(words) {
				roles[word] = role
			}
		}
		return roles
	}()

	ownerKinds = wordSet("user account login role client app application service admin database db host the tenant")

	// keyQualifiers are the words that make a key, or a word glued to them, a credential.
	keyQualifiers = wordSet("api access secret private signing master encryption encrypting decryption auth authentication authorization license licence account " +
		"shared storage ssh webhook hmac aes deploy root sas admin subscription integration ingest ingestion write server restricted recovery unseal wallet wif " +
		"symmetric preshared psk wep wpa live test merchant service session client bearer app application publishable instrumentation pass data cookie jwt csrf xsrf " +
		"refresh id oauth sso personal bot user db database smtp ldap bind vault consul nomad registry extended rsa ec ed ethereum eth bitcoin btc solana hex totp otp mfa tfa setup " +
		"project organization org provider sender routing push fcm apns stripe openai github gitlab slack sendgrid twilio aws azure gcp google datadog anthropic mailgun cloudflare")

	// verdicts are what a program says of a key that it does not accept.
	verdicts = wordSet("invalid incorrect wrong bad revoked expired rejected unknown failed malformed given provided supplied compromised leaked exposed old new current")

	// parserWords stand before the tokens of a parser, and before a header that another
	// rule reads.
	parserWords = wordSet("authorization unexpected unrecognized illegal parser lexer syntax terminal")

	// oneTime are the words before the seed of one-time passwords.
	oneTime = wordSet("totp otp hotp mfa tfa fa authenticator setup")
)
