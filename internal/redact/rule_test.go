package redact

import (
	"maps"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/internal/redact/redacttest"
)

// lookalikesOf has, for a rule by its name and what tells it apart, texts that open
// its gate and hold nothing that it looks for. A rule whose literals begin its
// secrets needs no entry: a secret that breaks off behind them is one.
func lookalikesOf() map[string][]string {
	return map[string][]string{
		"airtable/former":          {"keyboard", "key12345678901234", "keyOfTheKingdomX"},
		"azure":                    {"sig=none"},
		"github":                   {"ghp_pages", "github_pat_short"},
		"grafana":                  {"glsa_", "glc_1"},
		"openai":                   {"sk-proj-one", "T3BlbkFJ"},
		"slack":                    {"xoxo", "hooks.slack.com/"},
		"tailscale":                {"tskey-auth-"},
		"asana":                    {"7/1724840130123 of 9"},
		"azure/client secret":      {"8Q~"},
		"braintree":                {"access_token$production$short"},
		"clickhouse":               {"4b1d"},
		"crates":                   {"precious", "cioaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
		"discord/bot":              {"MTIz.example.org", "api.example.org/v1.2.3", "NewRelicAgentForGoServices.config.loader"},
		"discord":                  {"/api/webhooks/17/x"},
		"mailchimp":                {"node-us1", "e69de29-us2"},
		"maxmind":                  {"a_mmk"},
		"telegram":                 {"10:AA"},
		"terraform":                {"see .atlasv1. in the manual"},
		"vault/former":             {"errors.yaml", "s.aaaaaaaaaaaaaaaaaaaaaaaaaaa", "services.NewTokenProviderFactory1"},
		"beside/aws":               {"aws_instance.web: 9fceb02d0ae598e95dc970b74767f19372d61af8", "arn:aws:iam::123456789012:role/Admin"},
		"beside/hex":               {"twilio answered 503", "sonar scan of 9fceb02"},
		"jwt":                      {"eyJ is how a token begins", "eyJhbGciOiJIUzI1NiJ9"},
		"pem":                      {"-----BEGIN"},
		"bearer":                   {"use bearer authentication"},
		"basic":                    {"basic authentication is off"},
		"url":                      {"a@b", "https://example.org/@ada"},
		"url/go-mysql":             {"see @tcp(db:3306)"},
		"email":                    {"me@", "lodash@4.17.21.tgz", "git@github.com"},
		"ssn":                      {"000-12-3456", "123-45-67890", "666-12-3456"},
		"ssn/spaced":               {"000 12 3456", "12 123 45 6789 10", "900 12 3456"},
		"card":                     {strings.Repeat("4242", 3) + "4243", "1724840130123"},
		"ipv4":                     {"127.0.0.1", "v1.2.3.4", "256.1.1.1", "Chrome/126.0.0.0"},
		"ipv6":                     {"::1", "std::vec", "x[::2]"},
		"iban":                     {"DE00123456789012345678", "de89abcd", "GB82 WEST 1234 5698 7654 33"},
		"phone":                    {"+0200", "2024-08-28 10:15:30 +0000 UTC", "192.168.100", "1,024 000 512", "CO-20240828-000001", "555-010-99", "(404) 2024-08-28"},
		"phone/named":              {"phone: none", "mobile=yes", "phone_count=12"},
		"passport":                 {"passport is required", "passport: EXPIRED", "passport.js 0.7"},
		"birth":                    {"born to run", "date of birth is missing", "birthday cake"},
		"command/curl":             {"curl -sS -u https://example.org", "curl https://example.org/a:b"},
		"command/-p word":          {"sshpass is not installed", "docker login registry.example.org", "mongo --port 27017"},
		"command/-pword":           {"mysql -u root -p < dump.sql", "mysql --port=3306", "mysql -protocol=tcp"},
		"command/-a":               {"redis-cli -h cache ping"},
		"command/-w":               {"ldapsearch -x -b dc=example"},
		"command/user%password":    {"smbclient -L host"},
		"command/net use":          {"net use z: host"},
		"command/net use first":    {`net use z: \\h\s /user:ada`, `net use \\h\s /persistent:yes /user:ada`},
		"paypal":                   {"A21AA"},
		"command/zip":              {"zip -r x.zip docs", "unzip -P ada x.zip"},
		"command/ssh-keygen":       {"ssh-keygen -t ed25519"},
		"command/pass:":            {"--- pass: TestX", "bypass: on"},
		"command/htpasswd":         {"htpasswd file ada"},
		"command/-p chosen":        {"mysql -u root -p app_production", "psql -p 5432", "useradd -p ada"},
		"command//p:":              {"xfreerdp /u:ada /v:host"},
		"command/auth()":           {"db.auth(user, password)"},
		"command/-k":               {"openssl enc -aes-256-cbc -in x"},
		"command/argument":         {"net user ada", "add_user ada", "addauth digest failed"},
		"command/vault":            {"vault login failed", "vault operator unseal -address=x"},
		"command/sudo -S":          {"sudo -S reads the password", "echo $PW | sudo -S id"},
		"protocol/sasl":            {"AUTH PLAIN not supported", "AUTH LOGIN disabled", "authenticate with a key"},
		"protocol/digest":          {`response="200"`, "response=deadbeef"},
		"protocol/setuser":         {"ACL SETUSER worker on"},
		"protocol/AUTH":            {"AUTH failed: WRONGPASS", "250-AUTH PLAIN LOGIN CRAM-MD5 XOAUTH2", "auth worker2 failed"},
		"protocol/LOGIN":           {"a001 OK LOGIN completed", "LOGIN attempt 3 of 5", "CREATE ROLE app LOGIN NOSUPERUSER"},
		"protocol/SASL PLAIN":      {"SASL PLAIN is disabled"},
		"protocol/PASS":            {"PASS TestRedact2 in 31ms", "PASS TestLogin2", "PASS src/auth.test.js (5.21 s)", "pass worker2"},
		"protocol/AUTH-PASS":       {"sentinel auth-pass mymaster is set"},
		"protocol/IDENTIFY":        {"IDENTIFY DEVICE failed", "please identify worker2"},
		"protocol/REGISTER":        {"register worker2", "REGISTER is not supported"},
		"netrc":                    {"login failed for ada, password expired", "login ada"},
		"sql":                      {"a file identified by its hash", "IDENTIFIED BY '***'"},
		"sql/insert":               {"INSERT INTO users (name) VALUES ('ada')", "INSERT INTO t (token_count) VALUES (12)", "insert into users (name, password) values ($1, $2)", "insert into the slot"},
		"sql/arguments":            {"UPDATE users SET name = ? WHERE token_count = ? [ada, 42]", "UPDATE users SET password = ? WHERE id = ?", "SELECT token FROM s WHERE id = $1 args=[42]"},
		"url/bare":                 {"app:latest@node17:8080", "image:v1.2.3@sha256:9e107d9d372bb6826bd81d3542a419d6"},
		"command/--data":           {"gcloud secrets create db --data-file=pw2.txt", "gcloud secrets versions add db"},
		"told/rejected":            {"name\n  too short [type=string_too_short, input_value='a9x2b', input_type=str]", "on field 'age': rejected value [abc12x9]; codes"},
		"told/entered":             {"Enter 12 to confirm", "Use port 5432 to log in"},
		"told/card code":           {"cvv 3 digits", "CVC 2.4.1", "csc 404 not found", "cvv 100 times"},
		"protocol/continuation":    {"AUTH PLAIN\n504 not supported", "AUTH LOGIN\n535 5.7.8 authentication rejected"},
		"csv":                      {"id,name,password", "token,count\nthe,12", "user,password\nada,***", "username, password\nare both required"},
		"told":                     {"the password is required", "token is expired", "Das Passwort ist falsch", "password is 12 characters", "password is ***"},
		"told/telling word":        {"invalid token: expired", "api key missing", "wrong password for ada", "signing key 4AEE18F83AFDEB23"},
		"told/login":               {"login failed for ada at 10:15:30", "bad login ada: locked", "auth failed for host:node17", "logged in as ada with role2", "bind cn=app with TLSv1.2"},
		"password/setting":         {"password=***;Encrypt=true and more", "[admins] are notified", "[admins]\ncount = 3"},
		"url/no scheme":            {"//cdn.example.org/a@2x.png", "//db:5432/x of ada@db"},
		"url/oracle":               {"ada/repo2@sha256:9e107d9d372bb6826bd81d3542a419d6", "oracle ada@//db:1521/svc"},
		"command/option":           {"snmpwalk -v2c -c public host", "osql -U sa -P"},
		"command/line":             {"['mkdir', '-p', '/srv/app2']", "docker login \\\n  -u ada registry2", `{"a": "-c"}`},
		"command/cookie":           {"curl -b cookies2.txt https://h", "curl -b theme=dark https://h"},
		"command/--secret-string":  {"aws secretsmanager get-secret-value --secret-id x2", "aws secretsmanager put-secret-value --secret-string file://x2.json"},
		"command/--value":          {"aws ssm put-parameter --type String --value eu-west-1b"},
		"command/--body":           {"gh secret set DB < x2.txt"},
		"command/keyvault":         {"az keyvault secret set --name x2 --file y2", "az keyvault secret set --name x2 --value ***"},
		"command/doctl":            {"doctl auth init --context x2", "doctl auth init -t needs a value"},
		"hash/Kerberos":            {"$krb5tgs$ hashes are off"},
		"password/wifi":            {"WIFI:T:nopass;S:Guest2;;", "wifi: connected to Office2"},
		"secret/BitLocker":         {"123456-234567-345678-456789", "1123456-234567-345678-456789-567890-678901-789012-8901234"},
		"hash/NTLM":                {"NTLM is off", "NTLMv2: required"},
		"password/other scripts":   {"κωδικός: υποχρεωτικός", "парола: 3 опита"},
		"secret/vault id":          {"secret_id=prod/db-2", "secret id: missing"},
		"command/keychain":         {"security unlock-keychain x2", "the login-keychain -p option2"},
		"command/using":            {"connect to db user ada using TLSv1.2", "connect to SAMPLE2"},
		"command/mc":               {"mc alias set m https://h ada", "mc alias set m https://h"},
		"command/position":         {"isql mydsn sa2 -v", "bundle config path vendor2", "fly secrets set A=$B", "+ secrets set up2 for ada2"},
		"command//rp":              {"schtasks /query /tn job2", "schtasks /create /ru SYSTEM"},
		"command/SecureString":     {"ConvertTo-SecureString $pw -AsPlainText", "ConvertTo-SecureString failed2"},
		"command/stats auth":       {"stats auth is off", "stats auth ada:$PASS"},
		"command/oracle login":     {"sqlplus / as sysdba", "expdp finished, see /srv/dump2/x.log"},
		"command/oracle catalog":   {"the catalog is full2", "rman target / catalog x2"},
		"command/oracle connect":   {"connect localhost/app", "imp data/in2 file=x", "could not connect ada/repo2 to it"},
		"sql/replace":              {"find and replace them all2", "identified by name, replace it2"},
		"sql/pragma":               {"PRAGMA foreign_keys = 'ON2'", "PRAGMA key = '***'"},
		"netrc/pgpass":             {"app.go:5432:17:in:main2", "db:5432:app:ada", "a:*:b"},
		"password/dotted":          {"loading the token.... done2", "HikariConfig - password.........<masked>"},
		"k3s":                      {"K10abc::server:x", "std::server::x ::server:1"},
		"command/<<<":              {"chpasswd <<< $USERS", "cat <<< hello2x9"},
		"command/piped":            {"echo done2 | tee x2", "echo $PW | passwd --stdin ada"},
		"command/send":             {`send "hello2x9" to ada`, `expect "login:" then send "ada\r"`},
		"told/call":                {"login('ada', 'production')", "mysqli_connect($host, $user, $password)", "cursor.connect(host1, port2)", "jwt.sign(payload, key)", "bcrypt.compare(password, hash)"},
		"told/row":                 {"Failing row contains (1, ada, null, 2026-11-18, t).", "Failing row contains (0190a6f2-1b2c-7def-8abc-0123456789ab, order-4711, pending)."},
		"told/instance":            {"On instance['email']:\n    'a9x2b'", "On instance['password']:\n    None"},
		"told/rejected before":     {`Cast to Number failed for value "a9x2b" (type string) at path "age"`, `Invalid value: "a9x2b": spec.replicas`},
		"told/key size":            {`partition key "order-4711" is too short`, "the password is too short", "key 'HS256' is too short"},
		"secret/member":            {`{"field":"email","rejectedValue":"a9x2b"}`, `{"name":"region","value":"eu-west-1"}`, `{"path":"/oauth/token","data":"a9x2b"}`, `{"loc":["body","password"],"input":null}`},
		"secret/indented member":   {"- name: REGION\n  value: eu-west-1", "kind: ConfigMap\ndata:\n  value: hunter2X9", "tokens:\n  - identifier\n  - number", "secrets:\n  - db_password"},
		"secret/tagged member":     {"<name>fs.defaultFS</name><value>hdfs://nn:8020</value>", "<key>CFBundleName</key>\n<string>App2x9</string>", "<value>a9x2b</value><name>region</name>"},
		"url/port":                 {`invalid port ":port" after host`, `parse "http://h:80a0": invalid port ":80" after host`},
		"azure/account":            {"fs.azure.account.key.provider=simple"},
		"password/ldif":            {"Password:: is a class", "userPassword:: x"},
		"secret/ansible":           {"$ANSIBLE_VAULT;1.1;AES256"},
		"hash/plain":               {"{PLAIN} is a scheme", "{xor}"},
		"webhook":                  {"/hooks/use-toast", "/hooks/catch/1", "src/hooks/useAuthenticationTokens2.ts"},
		"webhook/office":           {"/IncomingWebhook/ is gone"},
		"webhook/feishu":           {"/open-apis/bot/v2/hook/help"},
		"webhook/ifttt":            {"/trigger/x/with/key/help"},
		"vendor":                   {"fw_update_available", "npg_connectionpool", "token-abcde was not found", "7a0d1f3e-1c57:fx", "live_2026_campaign", "sha256~", "cs_review", "AVNS_cluster", "v1.public.api", "secret-live-mode"},
		"prefixed":                 {"cs_test_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0", "orders_AbstractSingletonProxyFactoryBeanHandler", "commit_9fceb02d0ae598e95dc970b74767f19372d61af8", "cus_NffrFeUfNV2Hib"},
		"prefixed/dashed":          {"sha384-oqVuAfXRKap7fdgcCY5uykM6R9GqQ8Kuxy9rx7HNQlGYl1kP", "/chunk-aQ7xK2mZ9vB4nR8tW3yL6pD1sF5gH0jC.js", "build-9fceb02d0ae598e95dc970b74767f19372d61af8"},
		"cookie/wordpress":         {"wordpress_logged_in_ is missing", "wordpress_sec_ expired"},
		"webhook/chain":            {"https://docs.infura.io/networks", "https://rpc.ankr.com/eth"},
		"webhook/ping":             {"https://hc-ping.com/docs", "https://webhook.site/faq"},
		"webhook/make":             {"https://www.make.com/en/help/tools/webhooks"},
		"told/mnemonic":            {"mnemonic codes are not supported", "recovery phrase is missing"},
		"told/seed groups":         {"seed this test with some data", "OTP expired"},
		"told/pin":                 {"pin 17 is high", "OTP 26.2.1", "verification code 2026-11-18", "code de sortie 1", "codice di errore 4711", "Ihr Code ist abgelaufen"},
		"ssn/named":                {"SSN is required", "social security number has 9 digits"},
		"wallet/extended":          {"xprv is a prefix"},
		"wallet/wif":               {"5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLyTyK", "L1 cache"},
		"command/oracle":           {"sqlplus app@orcl", "connect to github.com/jackc/pgx/v5@v5.11.0 failed"},
		"beside/aws pair":          {"AKIA is a prefix of 9fceb02d0ae598e95dc970b74767f19372d61af8"},
		"hash":                     {"$2a$ is bcrypt", "costs $1$ or $5$"},
		"hash/P":                   {"$P$B is phpass"},
		"hash/scheme":              {"{SSHA} is a scheme", "{SHA}"},
		"hash/database":            {"md5: d41d8cd98f00b204e9800998ecf8427e", "scram-sha-256 is on", "md5sum"},
		"hash/mysql":               {"*0", "3 *4 = 12", "**bold**"},
		"jwk":                      {`{"kty":"RSA","n":"x","e":"AQAB"}`},
		"jwk/alone":                {`{"d":"short"}`, `{"d":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}`},
		"pem/PuTTY":                {"PuTTY-User-Key-File-", "Private-Lines: 3"},
		"pem/fragment":             {"MIIE", "MIIBIjANBgkq"},
		"pem/end":                  {"-----END PRIVATE KEY-----", "-----END CERTIFICATE-----"},
		"parameter/signature":      {"?signature=x&y=1", "the signature=none"},
		"parameter/code":           {"/v1/errors?code=NETWORK_TIMEOUT", "?key=name", "&state=RETRY_PENDING", "?code=4041234567890"},
		"scheme":                   {"SSWS is a scheme"},
		"scheme/aws":               {"AWS4-HMAC-SHA256 is a scheme"},
		"authorization":            {"authorization: denied"},
		"cookie":                   {"cookie: missing"},
		"password":                 {"password=***", "password authentication failed", "the password must be long"},
		"password/other languages": {"senha inválida", "Passwort vergessen?", "пароль неверен"},
		"password/pass":            {"--- PASS: TestX", "pass: ok", "bypass=hunter2", "pass=412 fail=3"},
		"password/short":           {"pin: left", "spin=4711"},
		"secret":                   {"unexpected token: end of input", "tokens=512", "secret=${VAULT}"},
		"secret/session":           {"session=cart-worker-3", "session: 4711", "session=0190a6f2-1b2c-7def-8abc-0123456789ab"},
		"secret/telling name":      {"sort_key=created_at", "seed=42", "code=404", "sid=open", "cache_key=users:42"},
		"secret/short":             {"auth: ok", "authority: x"},
		"person":                   {"tax_id: missing", "iban=***"},
		"body":                     {"command prompt: waiting", "prompt=***"},
		"body/bodies":              {"invalid request body: unexpected EOF", "response body too large"},
		"body/short":               {"body=512", "body: empty", "messages: 17", "nobody=1"},
	}
}

// TestEveryRuleHasExamples wants, of every rule, a secret that it finds by itself
// and a text that opens its gate in vain.
func TestEveryRuleHasExamples(t *testing.T) {
	t.Parallel()
	samples, known := redacttest.Samples(5), lookalikesOf()
	maps.Copy(known, placeLookalikes())
	seen := map[string]bool{}
	for _, rule := range Default().rules {
		id := strings.TrimSuffix(rule.name+"/"+rule.of, "/")
		if seen[id] {
			t.Errorf("there are two rules %s: say what tells them apart", id)
		}
		seen[id] = true
		opens := newGate([]entry{rule})
		finds := func(s string) bool { return len(rule.find(s, finding{}).spans) > 0 }
		near := known[id]
		found := false
		for _, sample := range samples {
			if sample.Rule == rule.name && finds(sample.Text) && !opens.scan(sample.Text).empty() {
				found = true
				if from := strings.Index(sample.Text, sample.Secret); known[id] == nil && from > 0 {
					near = append(near, sample.Text[:from]+sample.Secret[:min(3, len(sample.Secret))])
				}
			}
		}
		if !found {
			t.Errorf("%s: no sample of redacttest is found by it", id)
		}
		if len(near) == 0 {
			t.Errorf("%s: no text that looks like its secrets and is none", id)
		}
		for _, text := range near {
			if opens.scan(text).empty() {
				t.Errorf("%s: %q does not open its gate", id, text)
			}
			if clean, evidence := Default().String(text); finds(text) || evidence != nil {
				t.Errorf("%s: %q became %q", id, text, clean)
			}
		}
	}
	for id := range known {
		if !seen[id] {
			t.Errorf("there is no rule %s", id)
		}
	}
}

// entry is a rule where the word is taken.
type entry = rule

// TestAccountOfCardDigits holds an account number whose digits contain those of a
// card to its own name.
func TestAccountOfCardDigits(t *testing.T) {
	clean, evidence := Default().String("paid from FR02 3078 6130 9540 3348 9920 534 twice")
	if clean != "paid from [redacted:iban] twice" || evidence["iban"] != 1 || len(evidence) != 1 {
		t.Errorf("%q, %v", clean, evidence)
	}
}
