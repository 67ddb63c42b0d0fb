package redact

// placeLookalikes has the texts of [lookalikesOf] for the rules that know secrets by their place.
func placeLookalikes() map[string][]string {
	return map[string][]string{
		"url/host tail":            {"worker1@node2 joined", "ssh deploy2@web3: refused", "getaddrinfo ENOTFOUND postgres for ada@db"},
		"url/host":                 {"invalid host 'db:5432'", "could not resolve host: node17.example.org", "unknown host db-1"},
		"url/option":               {`invalid integer value "5432x" for connection option "port"`, `missing "=" after "localhost" in connection info string`},
		"parameter/path":           {"/password/reset", "/usr/share/doc/recoup-0.1.0/README.md", "/hooks/useAuthenticationTokens2.ts", "/verify/0190a6f2-1b2c-7def-8abc-0123456789ab", "/calendar/2026/11/18", "/private/var/folders/zz/x9"},
		"webhook/ingest":           {"/v1/input/help", "https://www.loggly.com/docs", "https://victorops.com/integrations/"},
		"secret/signed":            {"eyJ is how a token begins--and this is a word", "BAh--9fceb02"},
		"secret/session store":     {"sess_start failed", "/var/lib/php/sessions/", "session:expired", "sessions: 17"},
		"secret/made":              {"pat=yes", "appid=4711", "pat: x", "spat=9fceb02d0ae598e95dc970b74767f19372d61af8"},
		"told/parsed":              {`parsing "12a": invalid syntax`, `field "Retries": parsing "many"`, `unexpected token: strconv.Atoi: parsing "x1y"`, "Invalid value fast for configuration compression.type", "password must be a `string` type, but the final value was: `null`."},
		"told/header value":        {`invalid header value: "text/html"`, "format of value '2026-11-18' is invalid", `The "DB_PASSWORD2" variable is not set.`},
		"password/cut":             {`..."ssword":""`, `...token":null`, "...word and more"},
		"protocol/arguments":       {"unknown command `FOO`, with args beginning with: `bar1`", "with args beginning with: "},
		"password/form data":       {"form-data; name=\"age\"\n\n42\n", "form-data; name=\"password\"\n\n\n"},
		"password/positional":      {`PSK "***"`, "createUser is not allowed", ".logon failed", "[::1]:5432 is up"},
		"secret/misspelt":          {"unknown variable 'max_conections=200'", "unknown option --pasword"},
		"password/chpasswd":        {"chpasswd:\n", "chpasswd:\n  list: |\n    ada:RANDOM\n"},
		"secret/meta":              {"csrf-token is missing", `<meta name="csrf-token" content="" />`},
		"hash/sam":                 {"std:::x", "a ::: b"},
		"salesforce":               {"00D50000000IZ3Z", "100d"},
		"wallet/nostr":             {"nsec1 is a prefix"},
		"told/hex keys":            {"private key file 9fceb02", `accounts: ["0x52908400098527886E0F7617F2e2A5B1cD3e4F50"]`},
		"mollie":                   {"live_stream_recorder_configuration", "live_ABCDEFGHIJKLMNOPQRSTUVWXYZabcd"},
		"told/pair":                {"user/password authentication is off", "bad user name or password (ada, ***)"},
		"hash/named":               {"password_hash=required", "select password_hash, id"},
		"command/login argument":   {"wandb login failed", "bw unlock requires a session"},
		"command/pair argument":    {"curl --cert client.pem https://h", "jenkins-cli -auth @token"},
		"command/cf":               {"cf login -u ada"},
		"command/network":          {"radius-server key missing", "crypto isakmp key generation"},
		"url/domain":               {"acme/app:build4711@sha256:9e107d9d372bb6826bd81d3542a419d6", "ACME/readme:12@main"},
		"told/echoed":              {"for column 'password' at row 1", "Duplicate entry 'a' for key 'tokens.token'", "EnvVar{Name:A,Value:b,}"},
		"secret/environment":       {"SECRET_NAME=db2x9", "TOKEN_TTL=3600s", "token_count=12"},
		"secret/mixed environment": {"Sort_Key=created_at", "sort_key=a"},
		"secret/signature header":  {"X-Hub-Signature-256: missing", "x-hmac: off"},
		"beside/twilio":            {"AC96a1f0ad3be33f471f6ca89d3d7417d7 is an account", "place 0", "ace"},
		"parameter/grant":          {"invalid_grant: code=expired_token"},
		"password/input":           {`<input type="password" value="">`},
		"card/split":               {"card 42424242\n42424243", "ids\n42424242\n42424242"},
		"card/code":                {"security code 2.4.1", "card code is missing"},
		"card/emv":                 {"5a084242424242424243", "9fceb05a0812345678"},
		"told/job":                 {`Performing CleanupJob with arguments: "2026-11-18", "full"`, "task login failed: args=('ada', 'web') kwargs={}"},
	}
}

// placeMisses are the near misses of these rules.
func placeMisses() []string {
	return []string{
		"lookup a1b2c@db ", "a1b2c@db: no such host ", "invalid host 'a:b1234' ", "invalid host a1b2c3d4e5f6", "/reset/", "/reset/a/", "/reset/a1b2c3d4e5f6a7b8c9d0", "/private-", "/share/x/y/", "sess_", "sess:a1b2c3d4e5", "private key ", "private key\n0xa1b2c3d4 ", "accounts: [", `parsing "a" `, `'password' parsing "`, `"password" `, "value: 'a' ", "Invalid value a for key pin ", `Invalid value "a" supplied to /`, `..."ssword":"`, `...ssword":"a" `, "args beginning with: ", "unknown command 'AUTH' with args beginning with: 'a' ", "form-data; name=\"pin\"\n\n", "form-data; name=\"pin\"\na\n", `EAP "`, "createUser a SHA ", ` AES "a`, "unknown variable 'pas=", "chpasswd:\n a:b1234\n", "chpasswd:", "login args=('", "login args=('a1b2c3', ", "login arguments: ",
		"password=<<EOT\n", "password=<<EOT", "password=<Buffer ", `setPassword("`, `setPassword("a")`, `password("a1b2c", `, `set("pin","`, `{password,"`, `{password,<<"`, "'X-Token',\n", `["pin"]=>` + "\n", "password= a=b ", "{Password: A:b ", "{Password: ", "COOKIE_KEYS=a1b2c3d4e5f6a7b8c9,", "eyJaaaaaaaaaaaaaaaaaaaa--", `password="is too short" `, `{"pin":["is required"],`, "%B4242", "%B4242424242424242^", "<meta name=\"csrf-token\" ", "00D50000000IZ3Z!", "nsec1",
		"4242424242424242D", "4242424242424242^", "4242424242424242^a^", "4242424242424242 12/27 ", "4242,", "4242:", "42424242-", "5A084242", "user/password a:b1234", "user or password (", "login failed for a tried ", "{pass: a, ", "pass: a1b2c3\n", "access: ", "security code 1",
	}
}
