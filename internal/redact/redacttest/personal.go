package redacttest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// iban makes the number of an account with the right check digits, in a country
// whose numbers have digits only.
func (m maker) iban(country string, digitsAfter int) string {
	account := m.filler(digits, digitsAfter)
	rest := 0
	for _, c := range account + letters(country) + "00" {
		rest = (rest*10 + int(c-'0')) % 97
	}
	return fmt.Sprintf("%s%02d%s", country, 98-rest, account)
}

// letters writes letters as 10 to 35.
func letters(s string) string {
	var b strings.Builder
	for _, c := range s {
		fmt.Fprint(&b, int(c-'A')+10)
	}
	return b.String()
}

func grouped(s, separator string, size int) string {
	var parts []string
	for len(s) > size {
		parts, s = append(parts, s[:size]), s[size:]
	}
	return strings.Join(append(parts, s), separator)
}

// phones makes numbers as they are written in several countries.
func (m maker) phones() []string {
	d := func(n int) string { return m.filler("23456789", 1) + m.filler(digits, n-1) }
	return []string{
		"+1 " + d(3) + " " + d(3) + " " + d(4), "+1-" + d(3) + "-" + d(3) + "-" + d(4), "+1" + d(10), "+1 (" + d(3) + ") " + d(3) + "-" + d(4),
		"(" + d(3) + ") " + d(3) + "-" + d(4), d(3) + "-" + d(3) + "-" + d(4), d(3) + "." + d(3) + "." + d(4), "1-" + d(3) + "-" + d(3) + "-" + d(4),
		"+49 171 " + d(7), "+49 (0)30 " + d(8), "0171 " + d(7), "030/" + d(7), "0049 171 " + d(7), "(030) " + d(7), "0171-" + d(7),
		"+44 20 7" + d(3) + " " + d(4), "020 7" + d(3) + " " + d(4), "07" + d(3) + " " + d(6), "+33 6 " + grouped(d(8), " ", 2), "06 " + grouped(d(8), " ", 2), "01." + grouped(d(8), ".", 2),
		"+81 90-" + d(4) + "-" + d(4), "090-" + d(4) + "-" + d(4), "03-" + d(4) + "-" + d(4), "+55 11 9" + d(4) + "-" + d(4), "(11) 9" + d(4) + "-" + d(4),
		"+34 6" + d(2) + " " + d(3) + " " + d(3), "+91 98" + d(3) + " " + d(5), "04" + d(2) + " " + d(3) + " " + d(3), "+31 6 " + d(8), "06-" + d(8), "044 " + d(3) + " " + d(2) + " " + d(2),
	}
}

// person makes one sample of each kind of personal data.
func (m maker) person() []Sample {
	whole := func(rule, before, secret string) Sample {
		return Sample{Rule: rule, Text: before + secret, Secret: secret}
	}
	number := m.filler("123456789", 1) + m.filler(digits, 7)
	list := []Sample{
		whole("passport", "passport number ", "C"+number), whole("passport", "Passport No: ", number+"1"), whole("passport", "Reisepass: ", "C"+number),
		whole("passport", "passport is ", "X"+number),
	}
	year, month, day := 1940+m.IntN(65), 1+m.IntN(12), 10+m.IntN(18)
	for _, before := range []string{"born on ", "date of birth: ", "DOB ", "geboren am ", "née le "} {
		list = append(list, whole("birth", before, fmt.Sprintf("%d-%02d-%02d", year, month, day)))
	}
	list = append(list,
		whole("birth", "born ", fmt.Sprintf("%d/%d/%d", day, month, year)), whole("birth", "fecha de nacimiento: ", fmt.Sprintf("%02d.%02d.%d", day, month, year)),
		whole("birth", "born on ", fmt.Sprintf("March %d, %d", day, year)), whole("birth", "date of birth ", fmt.Sprintf("%d October %d", day, year)),
		whole("person", "national_id=", m.filler(digits, 11)), whole("birth", "date_of_birth=", fmt.Sprintf("%d%02d%02d", year, month, day)),
		whole("phone", "phone=", "0"+m.filler("123456789", 9)), whole("phone", "mobile: ", m.filler("23456789", 10)), whole("phone", "msisdn=", "49"+m.filler("123456789", 9)),
	)
	ssn := fmt.Sprintf("%03d %02d %04d", 1+m.IntN(665), 1+m.IntN(99), 1+m.IntN(9999))
	list = append(list, Sample{Rule: "ssn", Text: ssn, Secret: ssn})
	for _, p := range m.phones() {
		list = append(list, Sample{Rule: "phone", Text: p, Secret: p})
	}
	german, french := m.iban("DE", 18), m.iban("FR", 23)
	for _, n := range []string{german, french, m.iban("AT", 16), m.iban("ES", 20), m.iban("BE", 12), grouped(german, " ", 4), grouped(french, " ", 4), strings.ToLower(german)} {
		list = append(list, Sample{Rule: "iban", Text: n, Secret: n})
	}
	return list
}

// entered makes a code that a message asks for.
func (m maker) entered() Sample {
	code := m.filler("123456789", 6)
	return Sample{Rule: "told", Text: "Enter " + code + " to verify your account", Secret: code}
}

// answered makes the answer of a client to a challenge.
func (m maker) answered() Sample {
	secret := base64.StdEncoding.EncodeToString([]byte("\x00ada\x00" + m.filler(alnum, 10)))
	return Sample{Rule: "protocol", Text: "C: AUTH PLAIN\nS: 334\nC: " + secret, Secret: secret}
}

// told makes passwords as people write them to each other and to programs.
func (m maker) told() []Sample {
	password := func() string {
		return m.filler(lower, 4) + m.filler("!#^*_~", 1) + m.filler(alnum, 6) + m.filler(digits, 1)
	}
	var list []Sample
	add := func(rule, before, after string) {
		secret := password()
		list = append(list, Sample{Rule: rule, Text: before + secret + after, Secret: secret})
	}
	for _, before := range []string{
		"the password is ", "password was ", "Das Passwort ist ", "Kennwort lautet: ", "le mot de passe est ", "la contraseña es ", "a senha é ", "la parola è ",
		"het wachtwoord is ", "hasło to ", "пароль это ", "密码是", "パスワードは", "the password for ada is ", "the passphrase is ",
	} {
		add("told", before, "")
	}
	for _, before := range []string{"Passwort: ", "mot de passe : ", "contraseña=", "senha: ", "wachtwoord=", "hasło: ", "пароль: ", "密码：", "パスワード: ", "Kennwort="} {
		add("password", before, "")
	}
	for _, before := range []string{
		"curl -u ada:", "curl -sS --user ada:", "sshpass -p ", "sshpass -p'", "mysql -u root -p", "mysqldump --all-databases -uroot -p", "docker login -u ada -p ", "mongo -u ada -p ",
		"redis-cli -h cache -a ", "ldapsearch -D cn=ada -w ", "smbclient //h/s -U ada%", "openssl rsa -passin pass:", "htpasswd -b file ada ", "7z x -p",
	} {
		add("command", before, " host")
	}
	list = append(list, m.commands()...)
	add("netrc", "machine example.org login ada password ", "\n")
	add("netrc", "machine example.org\n  login ada\n  password ", "\n")
	add("sql", "CREATE USER ada IDENTIFIED BY '", "'")
	add("sql", "alter user ada identified with caching_sha2_password by '", "'")
	add("sql", "ALTER USER ada IDENTIFIED BY ", "")
	return list
}

// commands makes the passwords in commands that programs send to servers, and in command lines
// where only the look of an argument says that it is a password.
func (m maker) commands() []Sample {
	var list []Sample
	add := func(rule, before, after string) {
		secret := m.fill("pass", 0)
		list = append(list, Sample{Rule: rule, Text: before + secret + after, Secret: secret})
	}
	for _, before := range []string{"AUTH ", "AUTH default ", "a1 LOGIN ada ", "SASL PLAIN ada ", "PASS ", "sentinel auth-pass mymaster ", "NickServ IDENTIFY ", "NickServ REGISTER ", "ACL SETUSER ada on >"} {
		add("protocol", before, "")
	}
	for _, before := range []string{"mysql -u root -p ", "useradd -p ", "xfreerdp /u:ada /p:", "openssl enc -k ", "net user ada ", "rabbitmqctl change_password ada "} {
		add("command", before, " host")
	}
	add("command", "echo ", " | sudo -S id")
	add("command", "echo ", " | kinit ada")
	add("command", "chpasswd <<< ada:", "")
	add("command", "snmpget -v3 -u ada -A ", " host")
	add("command", `expect "Password:" { send "`, `" }`)
	add("command", `Command '['docker', 'login', '-p', '`, "']' failed")
	add("command", "sshpass \\\n  -p ", " ssh host")
	add("url", "remote //ada:", "@git/x")
	add("url", "oracle ada/", "@//db:1521/svc")
	add("told", "bad login ada:", "")
	add("told", "logged in as ada with ", "")
	add("password", "[admins]\nada=", "")
	add("command", `db.auth('ada', '`, "')")
	add("sql", "INSERT INTO users (name, password) VALUES ('ada', '", "')")
	add("url", "dial ada:", "@smtp:587")
	add("command", "gcloud secrets versions add db --data=", "")
	add("told", "password\n  too short [type=string_too_short, input_value='", "', input_type=str]")
	list = append(list, m.entered(), m.answered())
	add("csv", "id,name,password\n1,ada,", "\n")
	add("csv", "name|token\nada|", "")
	add("sql", "UPDATE users SET password = ? WHERE id = ? [", ", 42]")
	add("sql", "INSERT INTO users (name, password) VALUES ($1, $2) args=['ada', '", "']")
	login, sasl := m.filler(alnum, 22)+"aB7q", base64.StdEncoding.EncodeToString([]byte("ada-"+m.filler(alnum, 14)))
	return append(list, Sample{Rule: "command", Text: "vault login " + login, Secret: login}, Sample{Rule: "protocol", Text: "AUTH PLAIN " + sasl, Secret: sasl},
		Sample{Rule: "protocol", Text: "AUTH LOGIN " + sasl, Secret: sasl}, m.digestResponse())
}

// options makes the passwords in options of more programs.
func (m maker) options() (list []Sample) {
	for _, before := range []string{"ssh-keygen -N ", "zip -r x.zip -P ", "net use z: //h/s /user:ada "} {
		secret := m.fill("pass", 0)
		list = append(list, Sample{Rule: "command", Text: before + secret + " host", Secret: secret})
	}
	list = append(list, m.programs()...)
	secret := m.fill("pass", 0)
	return append(list, Sample{Rule: "command", Text: `net use z: \\h\s ` + secret + " /user:ada", Secret: secret})
}

// programs makes the passwords in arguments of programs that have a place or a name of their own for
// them, and in statements without a name for them.
func (m maker) programs() (list []Sample) {
	for _, around := range [][3]string{
		{"command", "aws secretsmanager put-secret-value --secret-string ", " --secret-id x"},
		{"command", "aws ssm put-parameter --type SecureString --value ", " --name x"},
		{"command", "gh secret set DB --body ", " --repo x"},
		{"command", "security unlock-keychain -p ", " x"},
		{"command", "db2 connect to SAMPLE user ada using ", ""},
		{"command", "mc alias set m https://h ada ", ""},
		{"command", "stats auth ada:", ""},
		{"command", "isql dsn sa ", ""},
		{"command", "schtasks /create /ru ada /rp ", " /tn x"},
		{"command", `ConvertTo-SecureString "`, `" -AsPlainText`},
		{"command", "expdp ada/", " full=y"},
		{"command", "connected to catalog rman/", "@cat"},
		{"command", "exp ada/", " file=x"},
		{"sql", `ALTER USER ada IDENTIFIED BY "[redacted:sql]" REPLACE "`, `"`},
		{"told", "EXEC sp_addlogin 'ada', '", "'"},
		{"sql", "PRAGMA key = '", "'"},
		{"netrc", "db:5432:app:ada:", ""},
		{"password", `HikariConfig - password..............."`, `"`},
	} {
		secret := m.fill("pass", 0)
		list = append(list, Sample{Rule: around[0], Text: around[1] + secret + around[2], Secret: secret})
	}
	cookie, token := "session="+m.mixed(hexa, 32), "K10"+m.mixed(hexa, 64)+"::server:"+m.mixed(hexa, 32)
	return append(list, Sample{Rule: "command", Text: "curl -b " + cookie + " https://h", Secret: cookie}, Sample{Rule: "k3s", Text: "joined with " + token, Secret: token})
}

func (m maker) digestResponse() Sample {
	response := m.mixed(hexa, 32)
	return Sample{Rule: "protocol", Text: `Digest realm="x", response="` + response + `"`, Secret: response}
}

// stored makes what programs keep and sign.
func (m maker) stored() []Sample {
	keep := func(rule, before, secret, after string) Sample {
		return Sample{Rule: rule, Text: before + secret + after, Secret: secret}
	}
	crypt := func(n int) string { return m.filler(alnum+"./", n) }
	sum := sha256.Sum256([]byte(m.filler(alnum, 9)))
	digest := base64.RawStdEncoding.EncodeToString(sum[:])
	token, hex40, hex64 := m.filler(alnum, 40)+"q7", m.filler(hexa, 40), m.filler(hexa, 64)
	lines := m.filler(alnum, 64) + "\n" + m.filler(alnum, 64) + "\n" + m.filler(alnum, 30) + "=="
	der := "MIIEpAIBAAKCAQEA" + m.filler(alnum, 48)
	aws := "wJ4/" + m.filler(lower, 12) + m.filler(upper, 12) + m.filler(digits, 8) + "+aZ9"
	return []Sample{
		keep("hash", "", "$2b$12$"+crypt(53), ""), keep("hash", "", "$2y$10$"+crypt(53), ""), keep("hash", "", "$6$"+crypt(8)+"$"+crypt(86), ""), keep("hash", "", "$5$rounds=5000$"+crypt(16)+"$"+crypt(43), ""),
		keep("hash", "", "$1$"+crypt(8)+"$"+crypt(22), ""), keep("hash", "", "$apr1$"+crypt(8)+"$"+crypt(22), ""), keep("hash", "", "$y$j9T$"+crypt(22)+"$"+crypt(43), ""),
		keep("hash", "", "$argon2id$v=19$m=65536,t=3,p=4$"+crypt(22)+"$"+digest, ""), keep("hash", "", "$P$B"+crypt(30), ""), keep("hash", "{SSHA}", digest, ""),
		keep("hash", "pbkdf2_sha256$600000$"+crypt(12)+"$", digest, "="), keep("hash", "SCRAM-SHA-256$4096:"+crypt(22)+"==$", digest+"=:"+digest, "="), keep("hash", "md5", m.filler(hexa, 32), ""),
		keep("hash", "*", strings.ToUpper(hex40), ""),
		keep("jwk", `{"kty":"RSA","n":"x","d":"`, token, `"}`), keep("jwk", `{"kty":"oct","k":"`, token, `"}`), keep("jwk", `{"crv":"P-256","d":"`, token, `"}`),
		keep("pem", "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPublic-Lines: 1\nAAAA\nPrivate-Lines: 3\n", lines, "\nPrivate-MAC: "+hex64),
		keep("pem", "Private-Lines: 3\n", lines, ""), keep("pem", "", der+"\n"+m.filler(alnum, 64)+"\n"+m.filler(alnum, 60), ""),
		keep("pem", "", lines, "\n-----END EC "+"PRIVATE KEY-----"), keep("pem", "", "b3BlbnNzaC1rZXktdjEAAAAA"+m.filler(alnum, 46), ""),
		keep("parameter", "https://s3.example.org/b/o?X-Amz-Date=20240828T101530Z&X-Amz-Signature=", hex64, "&x=1"), keep("parameter", "https://storage.example.org/b/o?X-Goog-Signature=", hex64, ""),
		keep("parameter", "https://cdn.example.org/o?Expires=1724840130&Signature=", token+"~"+token, "&x=1"), keep("parameter", "/callback?code=", "4/0A"+token, "&scope=email"),
		keep("parameter", "/callback?state=x&code=", token, ""), keep("parameter", "https://maps.example.org/js?key=", token, ""), keep("parameter", "/sso?ticket=", "ST"+token, ""),
		keep("scheme", "SSWS ", "00"+token, ""), keep("scheme", "GenieKey ", token, ""), keep("scheme", "AWS4-HMAC-SHA256 SignedHeaders=host, Signature=", hex64, ""),
		keep("beside", "aws secret half ", aws, ""), keep("beside", "the key's SecretAccessKey\t", aws, ""), keep("beside", "twilio auth ", m.filler(hexa, 32), ""), keep("beside", "sonar login ", hex40, ""),
		keep("password", "pin=", m.filler(digits, 6), ""), keep("password", "clave=", m.filler(alnum, 9), ""), keep("secret", "otp=", m.filler(digits, 6), ""), keep("secret", "auth=", m.filler(alnum, 20), ""), keep("secret", "session=", token, ""),
		keep("body", `prompt="Summarise the file of `, m.filler(lower, 9)+" "+m.filler(lower, 7), ` for me"`), keep("body", `{"request_body":"`, m.filler(lower, 30), `"}`),
		keep("body", `"messages":[{"role":"user","content":"`, m.filler(lower, 12)+" "+m.filler(lower, 7), `"}]`),
	}
}
