package redacttest

import "strings"

// places makes secrets that stand where a program takes them for something else: the name of a
// machine, a part of a path, the argument of a job, a line of a configuration file.
func (m maker) places() (list []Sample) {
	add := func(rule, before, secret, after string) {
		list = append(list, Sample{Rule: rule, Text: before + secret + after, Secret: secret})
	}
	password := func() string { return m.fill("pass", 0) }
	word := func() string { return m.filler(upper, 1) + m.filler(lower, 5) + "4" + m.filler(upper, 2) + "7" }
	add("url", "getaddrinfo ENOTFOUND ", word(), "@postgres")
	add("url", "contains invalid host 'app:", word(), "'")
	add("url", `invalid integer value "`, word(), `" for connection option "port"`)
	add("parameter", "GET /password/reset/", m.fill("hex", 40), "/edit 404")
	add("webhook", "https://http-intake.logs.datadoghq.com/v1/input/", m.fill("hex", 32), "?page=2")
	add("secret", "_app_session=", "eyJ"+m.fill("alnum", 40)+"--"+m.fill("hex", 40), "")
	add("secret", "open(/var/lib/php/sessions/sess_", "4k"+m.filler(lower+digits, 23)+"7", ", O_RDWR)")
	add("told", `field 'Password' of type int: parsing '`, password(), `' failed`)
	add("told", "invalid header value: '", "aQ7"+m.fill("alnum", 37), "'")
	add("password", `while parsing near '...ssword": "`, password(), `", '`)
	add("protocol", "unknown command 'AUTH', with args beginning with: '", password(), "'")
	add("password", "form-data; name=\"password\"\n\n", password(), "\n--x")
	add("password", "createUser ada SHA \"", password(), "\"")
	add("secret", "unknown variable 'pasword=", password(), "'")
	add("password", "chpasswd:\n  list: |\n    ada:", password(), "\n")
	add("secret", `<meta name="csrf-token" content="`, m.fill("alnum", 40), `" />`)
	add("hash", "ada:1001:", m.filler(hexa, 31)+"7:"+m.filler(hexa, 31)+"a", ":::")
	add("salesforce", "", "00D5000000"+m.filler(alnum, 5)+"!"+m.fill("alnum", 90), "")
	add("wallet", "", "nsec1"+m.filler("qpzry9x8gf2tvdw0s3jn54khce6mua7l", 58), "")
	add("told", "Private Keys\n(0) ", m.fill("zerox", 64), "\n")
	add("told", "Performing LoginJob with arguments: 'ada', '", word()+m.filler(lower, 2), "'")
	add("secret", "GH_PAT=", m.fill("hex", 40), "")
	add("card", "security code ", "1"+m.filler(digits, 2), " is wrong")
	add("told", "invalid username-password pair: ('ada', '", word(), "')")
	add("hash", "password_hash=", m.filler(hexa, 39)+"7", "")
	list = m.morePlaces(list)
	add("card", "pay with ", "4242 4242\n4242 4242", ".")
	add("mollie", "", "live_dH4"+m.filler(alnum, 27), "")
	add("card", "5A08", "4242424242424242", "5F24")
	return list
}

// morePlaces adds the arguments of tools, what databases repeat, and the names of variables and headers.
func (m maker) morePlaces(list []Sample) []Sample {
	add := func(rule, before, secret, after string) {
		list = append(list, Sample{Rule: rule, Text: before + secret + after, Secret: secret})
	}
	word := func() string { return m.filler(upper, 1) + m.filler(lower, 5) + "4" + m.filler(upper, 2) + "7" }
	add("command", "wandb login ", m.filler(hexa, 39)+"7", "")
	add("command", "curl --cert k.pem:", word(), "")
	add("command", "cf login -u ada -p ", word(), "")
	add("command", "radius-server host h key ", word(), "")
	add("url", "psexec.py CORP/ada:", word(), "@dc1")
	add("told", "Data too long for column 'password' at row 1: '", word(), "'")
	add("secret", "SECRET_ENV=", word(), "")
	add("secret", "CF_Key=", m.filler(hexa, 39)+"7a", "")
	add("secret", "X-Hub-Signature-256: sha256=", m.filler(hexa, 62)+"7a", "")
	add("beside", "AC"+m.filler(hexa, 30)+"7a:", m.filler(hexa, 30)+"7a", "")
	add("parameter", "invalid_grant for code=", "4a7B"+m.filler(alnum, 24)+"x9", "")
	add("password", `<input type="password" value="`, word(), `">`)
	add("command", "az keyvault secret set --name db --value ", word(), "")
	add("command", "doctl auth init -t ", m.filler(hexa, 31)+"7a", "")
	add("hash", "", "$krb5tgs$23$*svc$CORP$x*$"+m.filler(hexa, 31)+"7$"+m.filler(hexa, 64), "")
	add("password", "WIFI:T:WPA;S:Office;P:", word(), ";;")
	add("secret", "", "123456-"+strings.Repeat(m.filler("123456789", 6)+"-", 6)+"654321", "")
	add("hash", "NTLM hash of ada: ", m.filler(hexa, 31)+"7", "")
	add("password", "κωδικός: ", word(), "")
	add("secret", "secret_id=", "84896a0c-1347-4a90-a4f6-"+m.filler(hexa, 11)+"7", "")
	return list
}
