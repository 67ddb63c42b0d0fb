package redact

// webhookRules finds the addresses that let everybody who knows them post a message or spend a
// quota: a part of their path is the secret.
func webhookRules() []rule {
	const uuid = `[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`
	return []rule{
		{name: "webhook", of: "office", gate: []string{"/incomingwebhook/"}, expr: `(?i)/webhook(?:b2)?/([\w-]{8,40}(?:@[\w-]{8,40})?/IncomingWebhook/[\w/-]{16,})`},
		{name: "webhook", of: "feishu", gate: []string{"/bot/hook/", "/bot/v0/hook/"}, expr: `/open-apis/bot/(?:v\d/)?hook/([\w-]{16,})`},
		{name: "webhook", gate: []string{"/hooks/"}, expr: `/hooks/(?:catch/(\d{4,12}/\w{5,}(?:/\w{5,})?)|([a-z0-9]{26})|([A-Za-z0-9]{17,24}/[A-Za-z0-9]{32,}))`, check: hookPath},
		{name: "webhook", of: "ifttt", gate: []string{"/with/key/"}, expr: `/with/key/([\w-]{16,})`},
		{
			name: "webhook", of: "chain", gate: []string{"infura.io/", "alchemy.com/v0/", "alchemyapi.io/v0/", "quiknode.pro/", "rpc.ankr.com/"},
			expr: `(?:infura\.io/(?:ws/)?v\d/|alchemy(?:api\.io|\.com)/v\d/|quiknode\.pro/|rpc\.ankr\.com/\w{2,24}/)([\w-]{32,})`,
		},
		{name: "webhook", of: "ping", gate: []string{"hc-ping.com/", "webhook.site/"}, expr: `(?:hc-ping\.com|webhook\.site)/(` + uuid + `)`},
		{name: "webhook", of: "make", gate: []string{".make.com/", "integromat.com/"}, expr: `\bhook\.(?:[a-z]{2}\d\.make|integromat)\.com/([a-z0-9]{20,})`},
	}
}

// hookPath tells the secret of an address from a word: /hooks/use-toast, /hooks/catch/1.
func hookPath(s string, from, to int) bool {
	_, _, digits := mixture(s[from:to])
	return digits > 0 && ends(s, to)
}
