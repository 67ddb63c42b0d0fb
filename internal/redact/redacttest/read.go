package redacttest


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
