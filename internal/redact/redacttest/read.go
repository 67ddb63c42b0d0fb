package redacttest

import "encoding/base64"

// read makes secrets that only what stands around them tells: the call that they are an argument of,
// the object that they are a member of, and the sentence of a parser.
func (m maker) read() (list []Sample) {
	add := func(rule, before, secret, after string) {
		list = append(list, Sample{Rule: rule, Text: before + secret + after, Secret: secret})
	}
	password := func() string { return m.fill("pass", 0) }
	add("told", "#0 /app/db.php(3): PDO->__construct('mysql:host=db;d...', 'ada', '", password(), "', Array)")
	add("told", `smtp.login("ada", "`, password(), `")`)
	add("secret", `{"field":"password","rejectedValue":"`, password(), `"}`)
	add("secret", `{"Name":"/prod/db","Type":"SecureString","Value":"`, password(), `"}`)
	add("secret", "- name: DB_PASSWORD\n  description: of the database\n  value: ", password(), "")
	add("secret", "kind: Secret\nstringData:\n  db: ", password(), "\n")
	add("secret", "<name>db.password</name>\n<value>", password(), "</value>")
	add("url", `invalid port ":`, m.fill("pass", 0), `" after host`)
	add("told", "DETAIL: Failing row contains (1, ada, ", m.filler(lower, 5)+"4"+m.filler(upper, 3)+"7"+m.filler(lower, 2), ", 2026-11-18).")
	add("told", "Failed validating 'minLength'\nOn instance['password']:\n    '", password(), "'")
	add("told", `Cast to ObjectId failed for value "`, password(), `" (type string) at path "password"`)
	add("told", `signing key "`, m.filler(alnum, 9)+"7q2", `" is too short`)
	add("azure", "fs.azure.account.key.x.blob.core.windows.net=", m.filler(alnum, 60)+"aQ7x", "==")
	add("password", "unicodePwd:: ", base64.StdEncoding.EncodeToString([]byte("\"\x00"+m.filler(lower, 1)+"\x00"+m.filler(lower, 1)+"\x00"+m.filler(alnum, 11))), "")
	add("secret", "$ANSIBLE_VAULT;1.1;AES256\n", m.filler(digits, 80), "\n")
	add("hash", "ada:{PLAIN}", password(), "")
	uuid := m.filler(hexa, 8) + "-" + m.filler(hexa, 4) + "-" + m.filler(hexa, 4) + "-" + m.filler(hexa, 4) + "-" + m.filler(hexa, 12)
	add("webhook", "https://x.webhook.office.com/webhookb2/"+uuid+"@"+uuid+"/IncomingWebhook/", m.filler(hexa, 32)+"/"+uuid, "")
	add("webhook", "https://open.feishu.cn/open-apis/bot/v2/hook/", uuid, "")
	add("webhook", "https://chat.example.org/hooks/", m.filler(lower+digits, 25)+"7", "")
	add("webhook", "https://maker.ifttt.com/trigger/x/with/key/", m.filler(alnum, 22), "")
	add("webhook", "https://mainnet.infura.io/v3/", m.filler(hexa, 32), "")
	add("webhook", "https://hc-ping.com/", uuid, "")
	add("webhook", "https://hook.eu1.make.com/", m.filler(lower+digits, 32), "")
	return list
}
