package redact

import "strings"

// The roles of words between a telling word and its value.
const (
	links = 1 + iota // says nothing of what follows: "invalid", "value"
	gives            // says that a value was given: "provided", "is"
	names            // says whose it is: "for user ada"
)

// maxConnector is the length of the longest connector.
const maxConnector = 20

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
			links: "invalid incorrect wrong bad rejected revoked expired unknown unrecognized unrecognised malformed not found valid string has been the a now to too use provisoire temporaire temporal temporanea temporária временный " +
				"with in request header failed refused denied error mismatch unauthorized compromised leaked exposed and phrase plaintext hex base raw secret token key seed " +
				"attempt but from you we that your new old current previous temporary initial default successfully already again does did do be equal share word question proceed installation " +
				"continue this an insert don doesn didn t differ differs different attribute field property option parameter argument validation verification check reminder hint auf neu then have had also equals guard " +
				"weak short long simple satisfy satisfies meet meets match policy requirements must at most least characters chars " +
				"falsch ungültig inválida inválido invalida incorrecta incorrecto incorreta incorreto errada incorrecte invalide errata sbagliata неверный неверен неправильный onjuist ongeldig",
			gives: "provided supplied given sent used received entered specified presented submitted passed is was are set changed reset updated using got ist lautet war est es " +
				"generated regenerated created issued rotated refreshed replaced tried value expected actual should typed posted stored saved assigned shared attempted want wanted geändert lautete",
			names: "for of für pour para per voor von van del di от для af pentru użytkownika dla on",
		} {
			for word := range strings.FieldsSeq(words) {
				roles[word] = role
			}
		}
		return roles
	}()

	// verbs end the owner of a secret: "for role app set to".
	verbs = wordSet("is was has set changed reset ist war lautet est es")

	// valueWords announce a value, also on the next line and after a comma.
	valueWords = wordSet("value got received entered actual tried")

	// sessionWords may stand between session and its id.
	sessionWords = wordSet("id identifier cookie key token ids")

	// keyQualifiers are the words that make a key, or a word glued to them, a credential.
	keyQualifiers = wordSet("api access secret private signing master encryption encrypting decryption auth authentication authorization license licence account " +
		"shared storage ssh webhook hmac aes deploy root sas admin subscription integration ingest ingestion write server restricted recovery unseal wallet wif " +
		"symmetric crypt preshared psk wep wpa live test merchant service session client bearer app application publishable instrumentation pass data cookie jwt csrf xsrf " +
		"refresh id oauth sso personal bot user db database smtp ldap bind vault consul nomad registry extended rsa ec ed ethereum eth bitcoin btc solana hex totp otp mfa tfa setup " +
		"project organization org provider sender routing push fcm apns stripe openai github gitlab slack sendgrid twilio aws azure gcp google datadog anthropic mailgun cloudflare " +
		"product serial validation activation registration wifi fi luks priv store trust keystore role consumer")

	// codeQualifiers are the words that make a code a credential.
	codeQualifiers = wordSet("authorization authorisation verification authentication confirmation security activation recovery backup pairing access invite invitation device user login " +
		"reset auth guard unlock claim enrollment enrolment gate door puk pin sms otp totp mfa fa tfa factor time digit passcode wrong grant your voucher redemption secret scratch alarm signin link sign magic use registration")

	// sharedWords stand before keys and secrets that people choose.
	sharedWords = wordSet("shared preshared enable wifi fi wpa jwt")

	// determiners may stand between a telling word and what stands before it.
	determiners = wordSet("the your my his her our their a an one new old temporary users user account example google email input")

	// fieldWords are the names of what has a name and a value.
	fieldWords = wordSet("field parameter key column attribute property argument option variable header setting flag")

	// verdicts are what a program says of a key that it does not accept.
	verdicts = wordSet("invalid incorrect wrong bad revoked expired rejected unknown failed malformed given provided supplied compromised leaked exposed old new current")

	// parserWords stand before the tokens of a parser, and before a header that another
	// rule reads.
	parserWords = wordSet("authorization unexpected unrecognized illegal parser lexer syntax terminal")

	// onceWords stand before passwords that are codes: one-time password.
	onceWords = wordSet("time otp sms")

	// oneTime are the words before the seed of one-time passwords.
	oneTime = wordSet("totp otp hotp mfa tfa fa authenticator setup")
)
