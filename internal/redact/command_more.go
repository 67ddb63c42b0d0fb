package redact

// argumentRules finds secrets in the arguments of tools and in the commands of network gear, by their
// position.
func argumentRules() []rule {
	const (
		options  = `(?: -{1,2}[\w-]+(?:=\S{1,64})?){0,4} +["']?`
		argument = `([^\s"'-][^\s"']{3,255})`
	)
	return []rule{
		{
			name: "command", of: "login argument",
			gate: []string{"wandb ", "bw unlock", "bw login", "cf auth ", "snyk auth", "authtoken ", "cargo login", "setapikey", "rclone obscure", "authenticate_user ", "mysqladmin"},
			expr: `\b(?:wandb (?:re)?login|bw (?:unlock|login \S{1,64})|cf auth \S{1,64}|snyk auth|ngrok (?:config add-)?authtoken|cargo login|nuget setapikey|rclone obscure|rabbitmqctl authenticate_user \S{1,64}|mysqladmin [^\n|;]{0,64}password)` + options + argument, check: pairValue,
		},
		{
			name: "command", of: "pair argument", gate: []string{"curl", "jenkins-cli"},
			expr: `\b(?:curl|jenkins-cli)\b.*?\s(?:--cert|--proxy-cert|-E|-auth)[ =]+["']?[^\s"':]{1,256}:([^\s"'/\\][^\s"']{2,128})`, check: notMaskedAt,
		},
		{name: "command", of: "cf", gate: []string{"cf login"}, expr: `\bcf login\b.*?\s-p[ =]+["']?` + argument, check: notMaskedAt},
		{
			name: "command", of: "network", gate: []string{"-server ", "isakmp key", "ikev0 key", "ike key", "pre-shared-key", "message-digest-key", "authentication-key", " auth md0 ", " auth sha", " priv aes", " priv des", "wpa-psk ascii"},
			expr: `(?i)\b(?:(?:radius|tacacs)-server\b[^\n]{0,120}?\bkey|crypto (?:isakmp|ikev?2?) key|pre-shared-key(?: (?:ascii-text|hexadecimal|local|remote))?|(?:message-digest-key|authentication-key) \d{1,5} (?:hmac-)?(?:md5|sha[\d-]{0,4})|authentication-key|` +
				`auth (?:md5|sha[\d-]{0,4})|priv (?:3?des|aes)(?: \d{3})?|wpa-psk ascii)(?: \d)? ["']?([^\s"';,]{4,128})`, check: pairValue,
		},
	}
}
