package redacttest

const lowerDigits = lower + digits

func one(rule, prefix, alphabet string, length int) shape {
	return shape{rule, []piece{{prefix, alphabet, length}}}
}

func uuid(rule, prefix string) shape {
	return shape{rule, []piece{{prefix, hexa, 8}, {"-", hexa, 4}, {"-", hexa, 4}, {"-", hexa, 4}, {"-", hexa, 12}}}
}

// serviceShapes are the keys of services, of tools and of those who host models.
func serviceShapes() []shape {
	return []shape{
		one("adafruit", "aio_", alnum, 28),
		{"airtable", []piece{{"pat", alnum, 14}, {".", hexa, 64}}},
		{"airtable", []piece{{"keyA", alnum, 10}, {"bZ7", "", 0}}},
		one("artifactory", "AKCp8", alnum, 69), one("artifactory", "cmVmdGtu", alnum, 56),
		{"asana", []piece{{"1/", "123456789", 16}, {":", hexa, 32}}},
		one("aws", "FwoGZXIvYXdz", alnum, 120), one("aws", "IQoJb3JpZ2lu", alnum, 120),
		uuid("axiom", "xaat-"), uuid("axiom", "xapt-"),
		{"azure", []piece{{"", alnum, 3}, {"8Q~", alnum, 34}}},
		{"brevo", []piece{{"xkeysib-", hexa, 64}, {"-", alnum, 16}}},
		one("buildkite", "bkua_", lowerDigits, 40),
		one("cerebras", "csk-", lowerDigits, 48),
		{"circleci", []piece{{"CCIPAT_", alnum, 22}, {"_", hexa, 40}}},
		one("clickhouse", "4b1d", alnum, 38),
		one("clojars", "CLOJARS_", lowerDigits, 60),
		{"cloudflare", []piece{{"v1.0-", hexa, 24}, {"-", hexa, 146}}},
		one("contentful", "CFPAT-", wordlike, 43),
		{"crates", []piece{{"ci", "o", 1}, {"aB3", alnum, 29}}},
		one("dbt", "dbtc_", alnum, 40), one("dbt", "dbtu_", alnum, 40),
		{"discord", []piece{{"M", alnum, 23}, {".", alnum, 6}, {".", wordlike, 27}}},
		{"discord", []piece{{"N", alnum, 25}, {".", alnum, 6}, {".", wordlike, 38}}},
		one("discord", "mfa.", wordlike, 84),
		one("dropbox", "sl.", wordlike, 136),
		one("duffel", "duffel_live_", wordlike, 43),
		one("easypost", "EZAK", alnum, 54),
		one("elevenlabs", "sk_", hexa, 48),
		one("facebook", "EAAC", alnum, 170),
		one("firecrawl", "fc-", hexa, 32),
		one("flutterwave", "FLWSECK_TEST-", hexa, 32),
		one("frameio", "fio-u-", wordlike, 64),
		one("gitlab", "GR1348941", wordlike, 20),
		one("google", "1//0e", wordlike, 96),
		one("grafana", "eyJrIjoi", alnum, 72),
		{"harness", []piece{{"pat.", alnum, 22}, {".", hexa, 24}, {".", alnum, 20}}},
		one("honeycomb", "hcaik_", lowerDigits, 58),
		uuid("hubspot", "pat-na1-"), uuid("hubspot", "pat-eu1-"),
		one("intercom", "dG9rO", alnum, 55),
		{"jina", []piece{{"jina_", hexa, 32}, {"", wordlike, 28}}},
		{"langsmith", []piece{{"lsv2_pt_", hexa, 32}, {"_", hexa, 10}}},
		uuid("launchdarkly", "sdk-"), uuid("launchdarkly", "mob-"),
		one("lob", "live_", hexa, 35),
		{"maxmind", []piece{{"", alnum, 6}, {"_", alnum, 29}, {"_mmk", "", 0}}},
		one("neon", "napi_", lowerDigits, 64),
		one("netlify", "nfp_", alnum, 36),
		one("nuget", "oy2", lowerDigits, 43),
		one("nvidia", "nvapi-", wordlike, 64),
		{"octopus", []piece{{"API-42", upper + digits, 24}}},
		{"onepassword", []piece{{"A3-", upper, 6}, {"-", upper, 11}, {"-", upper, 5}, {"-", upper, 5}, {"-", upper, 5}}},
		one("onepassword", "ops_eyJ", alnum, 200),
		one("openai", "sess-", alnum, 40), one("openai", "sk-svcacct-", wordlike, 120), one("openai", "sk-admin-", wordlike, 80),
	}
}

// moreShapes go on from there.
func moreShapes() []shape {
	return []shape{
		one("paypal", "A21AA", alnum, 80),
		one("perplexity", "pplx-", alnum, 48),
		{"pinecone", []piece{{"pcsk_", alnum, 6}, {"_", alnum, 63}}},
		uuid("plaid", "access-sandbox-"), uuid("plaid", "access-production-"),
		one("polar", "polar_oat_", alnum, 43),
		one("prefect", "pnu_", lowerDigits, 36),
		one("razorpay", "rzp_live_", alnum, 14),
		one("readme", "rdme_xn8s9h", lowerDigits, 64),
		one("render", "rnd_", alnum, 28),
		one("replicate", "r8_", alnum, 37),
		{"resend", []piece{{"re_aB1", alnum, 5}, {"_", alnum, 24}}},
		one("scalingo", "tk-us-", wordlike, 48),
		{"scaleway", []piece{{"SCW42", upper + digits, 15}}},
		one("shippo", "shippo_live_", hexa, 40),
		{"sk", []piece{{"sk-or-v1-19470364", hexa, 56}}}, {"sk", []piece{{"sk-lf-81904", hexa, 31}}}, {"sk", []piece{{"sk-A1b2C3", alnum, 42}}},
		one("sonar", "squ_", hexa, 40), one("sonar", "sqp_", hexa, 40),
		{"sourcegraph", []piece{{"sgp_", hexa, 16}, {"_", hexa, 40}}},
		{"tailscale", []piece{{"tskey-auth-", alnum, 17}, {"-", alnum, 32}}}, {"tailscale", []piece{{"tskey-api-", alnum, 12}, {"-", alnum, 32}}}, one("tailscale", "tskey-", alnum, 24),
		one("tavily", "tvly-", alnum, 32),
		one("tencent", "AKID", alnum, 32),
		one("trigger", "tr_prod_", alnum, 24),
		one("twilio", "SK", hexa, 32),
		one("twitter", "AAAAAAAAAAAAAAAAAAAAA", alnum, 80),
		one("typeform", "tfp_", wordlike, 59),
		{"vault", []piece{{"s.aB1cD2eF3", alnum, 15}}}, {"vault", []piece{{"b.AAAAAQLa1", alnum, 90}}}, one("vault", "hvb.", wordlike, 120),
		one("vercel", "vcp_", alnum, 56),
		one("volcengine", "AKLT", alnum, 43),
		uuid("wakatime", "waka_"),
		one("xai", "xai-", alnum, 80),
		one("yandex", "y0_", wordlike, 55), one("yandex", "AQVN", wordlike, 36),
	}
}
