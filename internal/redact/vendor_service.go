package redact

const uuid = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

// serviceRules are more of what [vendorRules] begins: the keys of services, of
// tools and of those who host models.
func serviceRules() []rule {
	return []rule{
		{name: "adafruit", gate: []string{"aio_"}, expr: `aio_[A-Za-z0-9]{28,}`},
		{name: "airtable", gate: []string{"pat"}, expr: `pat[A-Za-z0-9]{14}\.[a-f0-9]{64}`},
		{name: "airtable", of: "former", gate: []string{"key"}, expr: `key[A-Za-z0-9]{14}`, check: mixedWord},
		{name: "artifactory", gate: []string{"AKCp", "cmVmdGtu"}, expr: `(?:AKCp\d[A-Za-z0-9]{40,}|cmVmdGtu[A-Za-z0-9]{40,})`},
		{name: "asana", gate: []string{"0/0000000000"}, expr: `\d/\d{13,}(?:/\d{13,})?:[a-f0-9]{32}`},
		{name: "aws", of: "session", gate: []string{"FwoGZXIv", "IQoJb3Jp", "FQoGZXIv", "ABSKQmVkcm9ja0"}, expr: `(?:FwoGZXIv|IQoJb3Jp|FQoGZXIv|ABSKQmVkcm9ja0)[\w+/=-]{40,}`},
		{name: "axiom", gate: []string{"xaat-", "xapt-"}, expr: `xa(?:at|pt)-` + uuid},
		{name: "azure", of: "client secret", gate: []string{"0Q~"}, expr: `[\w~.-]{3}\dQ~[\w~.-]{31,34}`},
		{name: "brevo", gate: []string{"xkeysib-", "xsmtpsib-"}, expr: `x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16,}`},
		{name: "buildkite", gate: []string{"bkua_", "bkct_"}, expr: `bk(?:ua|ct)_[A-Za-z0-9]{20,}`},
		{name: "cerebras", gate: []string{"csk-"}, expr: `csk-[a-z0-9]{40,}`},
		{name: "circleci", gate: []string{"CCIPAT_", "CCIPRJ_"}, expr: `CCIP(?:AT|RJ)_[A-Za-z0-9]{20,}_[a-f0-9]{40}`},
		{name: "clickhouse", gate: []string{"0b0d"}, expr: `4b1d[A-Za-z0-9]{38}`},
		{name: "clojars", gate: []string{"CLOJARS_"}, expr: `(?i)CLOJARS_[a-z0-9]{50,}`},
		{name: "cloudflare", gate: []string{"v0.0-"}, expr: `v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}`},
		{name: "contentful", gate: []string{"CFPAT-"}, expr: `CFPAT-[\w-]{43}`},
		{name: "crates", gate: []string{"cio"}, expr: `cio[A-Za-z0-9]{32}`, check: mixedWord},
		{name: "dbt", gate: []string{"dbtc_", "dbtu_"}, expr: `dbt[cu]_[\w+/=-]{32,}`},
		{name: "discord", of: "bot", count: ".", least: 2, find: findDiscord},
		{name: "discord", of: "former", gate: []string{"mfa."}, expr: `mfa\.[\w-]{60,}`},
		{name: "dropbox", gate: []string{"sl."}, expr: `sl\.(?:u\.)?[\w-]{100,}`},
		{name: "duffel", gate: []string{"duffel_live_", "duffel_test_"}, expr: `duffel_(?:live|test)_[\w=-]{40,}`},
		{name: "easypost", gate: []string{"EZAK", "EZTK"}, expr: `EZ[AT]K[A-Za-z0-9]{54}`},
		{name: "elevenlabs", gate: []string{"sk_"}, expr: `sk_[a-f0-9]{48}`},
		{name: "facebook", gate: []string{"EAAB", "EAAC", "EAAD", "EAAG", "EAAJ", "EAAM", "EAAW", "IGQV"}, expr: `(?:EAA[A-Z]|IGQV)[A-Za-z0-9_-]{80,}`},
		{name: "firecrawl", gate: []string{"fc-"}, expr: `fc-[a-f0-9]{32}`, check: wordAt},
		{name: "flutterwave", gate: []string{"FLWSECK"}, expr: `FLWSECK(?:_TEST)?-[A-Za-z0-9-]{12,}`},
		{name: "frameio", gate: []string{"fio-u-"}, expr: `fio-u-[\w=-]{60,}`},
		{name: "gitlab", of: "runner", gate: []string{"GR0000000", "glffct-", "glwt-"}, expr: `(?:GR1348941|glffct-|glwt-)[\w-]{20,}`},
		{name: "google", of: "refresh", gate: []string{"0//0"}, expr: `1//0[\w-]{40,}`},
		{name: "grafana", of: "former", gate: []string{"eyJrIjoi"}, expr: `eyJrIjoi[A-Za-z0-9+/=]{40,}`},
		{name: "harness", gate: []string{"pat.", "sat."}, expr: `[ps]at\.[\w-]{22}\.[a-f0-9]{24}\.[A-Za-z0-9]{20}`},
		{name: "honeycomb", gate: []string{"hcaik_", "hcbik_", "hcamk_"}, expr: `hc(?:aik|bik|amk)_[a-z0-9]{26,}`},
		{name: "hubspot", gate: []string{"pat-na0-", "pat-eu0-", "pat-ap0-"}, expr: `pat-(?:na|eu|ap)\d-` + uuid},
		{name: "intercom", gate: []string{"dG9rO"}, expr: `dG9rO[\w+/=-]{30,}`},
		{name: "jina", gate: []string{"jina_"}, expr: `jina_[a-f0-9]{32}[\w-]{20,}`},
		{name: "langsmith", gate: []string{"lsv0_"}, expr: `lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}`},
		{name: "launchdarkly", gate: []string{"sdk-", "mob-", "api-"}, expr: `(?:sdk|mob|api)-` + uuid, check: wordAt},
		{name: "lob", gate: []string{"live_", "test_"}, expr: `(?:live|test)_(?:pub_)?[a-f0-9]{31,40}`, check: firstWord},
		{name: "mollie", gate: []string{"live_", "test_"}, expr: `(?:live|test)_[A-Za-z0-9]{30}`, check: mollieKey},
		{name: "maxmind", gate: []string{"_mmk"}, expr: `[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk`},
		{name: "neon", gate: []string{"napi_"}, expr: `napi_[a-z0-9]{60,}`},
		{name: "netlify", gate: []string{"nfp_", "nfc_", "nfo_", "nfu_"}, expr: `nf[pcou]_[A-Za-z0-9]{36,}`},
		{name: "nuget", gate: []string{"oy0"}, expr: `oy2[a-z0-9]{43}`, check: wordAt},
		{name: "nvidia", gate: []string{"nvapi-"}, expr: `nvapi-[\w-]{60,}`},
		{name: "octopus", gate: []string{"API-"}, expr: `API-[A-Z0-9]{26,}`, check: mixedCode},
		{name: "onepassword", gate: []string{"ops_eyJ", "A0-"}, expr: `(?:ops_eyJ[\w+/=-]{100,}|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5})`},
		{name: "openai", of: "session", gate: []string{"sess-"}, expr: `sess-[A-Za-z0-9]{40,}`},
		{name: "paypal", gate: []string{"A00AA"}, expr: `A21AA[\w-]{60,}`},
		{name: "perplexity", gate: []string{"pplx-"}, expr: `pplx-[A-Za-z0-9]{40,}`},
		{name: "pinecone", gate: []string{"pcsk_"}, expr: `pcsk_[A-Za-z0-9]{5,8}_[A-Za-z0-9]{50,}`},
		{name: "plaid", gate: []string{"access-sandbox-", "access-production-", "access-development-"}, expr: `access-(?:sandbox|production|development)-` + uuid},
		{name: "polar", gate: []string{"polar_"}, expr: `polar_[a-z]{2,4}_[A-Za-z0-9]{32,}`},
		{name: "prefect", gate: []string{"pnu_", "pnb_"}, expr: `pn[ub]_[a-z0-9]{36}`, check: wordAt},
		{name: "razorpay", gate: []string{"rzp_live_", "rzp_test_"}, expr: `rzp_(?:live|test)_[A-Za-z0-9]{14,}`},
		{name: "readme", gate: []string{"rdme_"}, expr: `rdme_[a-z0-9]{60,}`},
		{name: "render", gate: []string{"rnd_"}, expr: `rnd_[A-Za-z0-9]{28,}`},
		{name: "replicate", gate: []string{"r0_"}, expr: `r8_[A-Za-z0-9]{37}`},
		{name: "resend", gate: []string{"re_"}, expr: `re_[A-Za-z0-9]{7,9}_[A-Za-z0-9]{24}`, check: mixedWord},
		{name: "scalingo", gate: []string{"tk-us-"}, expr: `tk-us-[\w-]{40,}`},
		{name: "scaleway", gate: []string{"SCW"}, expr: `SCW[A-Z0-9]{17}`, check: mixedCode},
		{name: "shippo", gate: []string{"shippo_"}, expr: `shippo_(?:live|test)_[a-f0-9]{40}`},
		{name: "sk", gate: []string{"sk-"}, expr: `sk-[\w-]{24,}`, check: mixedKey},
		{name: "sonar", gate: []string{"squ_", "sqp_", "sqa_"}, expr: `sq[upa]_[a-f0-9]{40}`},
		{name: "sourcegraph", gate: []string{"sgp_"}, expr: `sgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}`},
		{name: "tailscale", gate: []string{"tskey-"}, expr: `tskey-[a-z]+-[A-Za-z0-9-]{16,}|tskey-[A-Za-z0-9]{12,}(?:-[A-Za-z0-9]+)?`},
		{name: "tavily", gate: []string{"tvly-"}, expr: `tvly-(?:dev-)?[A-Za-z0-9]{28,}`},
		{name: "tencent", gate: []string{"AKID"}, expr: `AKID[A-Za-z0-9]{32}`},
		{name: "trigger", gate: []string{"tr_dev_", "tr_prod_", "tr_stg_"}, expr: `tr_(?:dev|prod|stg)_[A-Za-z0-9]{20,}`},
		{name: "twilio", gate: []string{"sk0", "ska", "skb", "skc", "skd", "ske", "skf"}, expr: `SK[0-9a-f]{32}`, check: wordAt},
		{name: "twitter", gate: []string{"AAAAAAAAAAAA"}, expr: `AAAAAAAAAAAAAAAAAAAA[\w%]{40,}`},
		{name: "typeform", gate: []string{"tfp_"}, expr: `tfp_[\w.=-]{40,}`},
		{name: "vault", of: "former", gate: []string{"s.", "b.", "r."}, find: findFormerVault},
		{name: "vercel", gate: []string{"vcp_", "vci_", "vca_", "vcr_", "vck_"}, expr: `vc[piark]_[A-Za-z0-9]{24,}`},
		{name: "volcengine", gate: []string{"AKLT"}, expr: `AKLT[A-Za-z0-9+/=_-]{40,}`},
		{name: "wakatime", gate: []string{"waka_"}, expr: `waka_` + uuid},
		{name: "xai", gate: []string{"xai-"}, expr: `xai-[A-Za-z0-9]{32,}`, check: mixedKey},
		{name: "yandex", gate: []string{"y0_", "t0.", "AQVN"}, expr: `(?:y0_[\w-]{50,}|t1\.[A-Z0-9a-z_-]+={0,2}\.[A-Z0-9a-z_-]{60,}={0,2}|AQVN[\w-]{35,})`},
	}
}

// besideRules finds what is a secret only beside the name of its vendor.
func besideRules() []rule {
	return []rule{
		{name: "beside", of: "aws", gate: []string{"aws", "AKIA", "ASIA", "secretaccesskey", "secret_access_key", "secret access key"}, find: findAWSSecret},
		{
			name: "beside", of: "hex", gate: []string{"twilio", "sonar", "datadog", "okta", "cloudflare", "pagerduty", "mailjet", "codecov"},
			expr: `(?i)(?:twilio|sonar(?:qube|cloud)?|datadog|okta|cloudflare|pagerduty|mailjet|codecov)[\s:='"_a-z./-]{1,24}?([0-9a-f]{40}|[0-9a-f]{32})`, check: wholeHex,
		},
	}
}

// wordAt reports whether a finding is a word of its own.
func wordAt(s string, from, to int) bool { return begins(s, from) && ends(s, to) }

// firstWord is a word that no underscore ties to one before.
func firstWord(s string, from, _ int) bool { return begins(s, from) && (from == 0 || s[from-1] != '_') }

// mollieKey tells the key of a payment service from a name: no word is as long.
func mollieKey(s string, from, to int) bool {
	return firstWord(s, from, to) && mixedWord(s, from+len("live_"), to)
}

// mixedWord is a word of its own with digits and letters of both cases in it, as
// chance makes it.
func mixedWord(s string, from, to int) bool {
	upper, lower, digits := mixture(s[from:to])
	return wordAt(s, from, to) && upper > 1 && lower > 1 && digits > 0
}

// mixedCode is the same of codes that have one case only.
func mixedCode(s string, from, to int) bool {
	_, _, digits := mixture(s[from:to])
	return wordAt(s, from, to) && digits > 1
}

// mixedKey tells a key with dashes in it from a name such as sk-learn-pipeline-1.
func mixedKey(s string, from, to int) bool {
	upper, _, digits := mixture(s[from:to])
	return begins(s, from) && digits > 2 && (upper > 1 || digits > 5)
}

// wholeHex is a number in base 16 that goes on at neither end.
func wholeHex(s string, from, to int) bool { return ends(s, to) && !alphanumeric(s[from-1]) }

func mixture(v string) (upper, lower, digits int) {
	for i := range len(v) {
		switch b := v[i]; {
		case digit(b):
			digits++
		case 'A' <= b && b <= 'Z':
			upper++
		case 'a' <= b && b <= 'z':
			lower++
		}
	}
	return upper, lower, digits
}
