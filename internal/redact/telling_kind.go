package redact

// secretKind is what a telling word stands for. It decides what counts as a value.
type secretKind int

const (
	ofToken    secretKind = iota // a token, a secret
	ofKey                        // a key: only with a word before it that makes it a credential
	ofPassword                   // chosen by a person
	ofSeed                       // of one-time passwords
	ofCode                       // typed once by a person: digits or groups of letters and digits
	ofSession                    // the id of a session
	ofPair                       // a user with a password
	ofLicense                    // groups of letters and digits
	ofAnswer                     // to a security question
	ofLink                       // signs its holder in
)

func tellingWords() map[string]secretKind {
	words := map[string]secretKind{
		"token": ofToken, "secret": ofToken, "secret id": ofToken, "secret_id": ofToken, "unseal": ofToken, "verifier": ofToken,
		"key": ofKey, "seed": ofSeed, "credential": ofPair, "credentials": ofPair, "creds": ofPair, "license": ofLicense, "licence": ofLicense,
		"code": ofCode, "codes": ofCode, "pin": ofCode, "otp": ofCode, "puk": ofCode, "passcode": ofCode, "bestätigungscode": ofCode, "sign-in code": ofCode, "apple id code": ofCode,
		"session": ofSession, "session_id": ofSession, "session-id": ofSession, "sessionid": ofSession, "sessid": ofSession, "phpsessid": ofSession, "jsessionid": ofSession, "sid": ofSession, "cookie": ofSession, "connect.sid": ofSession,
	}
	for _, word := range []string{"requirepass", "masterauth", "primaryauth", "storepass", "keypass", "psk", "pw", "pass", "key-string", "rootpw", "authtok", "community string", "snmp-server community", "snmp community", "密码错误", "密碼錯誤", "密码不正确", "密码无效"} {
		words[word] = ofPassword
	}
	for _, word := range toldWords() {
		if _, known := words[word]; !known && word != " pin" && word != "api key" && word != "passkey" {
			words[word] = ofPassword
		}
	}
	return words
}
