// Package redacttest makes secrets for the tests of everything that must not keep
// them. They are made when a test runs, from a prefix and filler, so that no line
// of this repository looks like a credential.
package redacttest

const (
	lower    = "abcdefghijklmnopqrstuvwxyz"
	upper    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits   = "0123456789"
	alnum    = lower + upper + digits
	hexa     = digits + "abcdef"
	wordlike = alnum + "_-"
)

// piece is a fixed text followed by filler from an alphabet.
type piece struct {
	fixed, alphabet string
	length          int
}

// shape says how the secrets of a rule are made.
type shape struct {
	rule   string
	pieces []piece
}

func vendorShapes() []shape {
	return []shape{
		one("recoup", "rdb_", alnum, 32),
		one("age", "AGE-SECRET-KEY-1", upper+digits, 58),
		one("alibaba", "LTAI", alnum, 20),
		one("anthropic", "sk-ant-api03-", wordlike, 95),
		one("atlassian", "ATATT3xFfGF0", wordlike, 180),
		one("atlassian", "ATBB", alnum, 32),
		one("aws", "AKIA", upper+digits, 16),
		one("aws", "ASIA", upper+digits, 16),
		{"azure", []piece{{"AccountKey=", alnum, 86}, {"==", "", 0}}},
		{"azure", []piece{{"https://x.blob.core.windows.net/c?sv=2022-11-02&sig=", alnum, 44}, {"%3D", "", 0}}},
		{"braintree", []piece{{"access_token$production$", lower + digits, 16}, {"$", hexa, 32}}},
		one("databricks", "dapi", hexa, 32),
		one("digitalocean", "dop_v1_", hexa, 64),
		{"discord", []piece{{"https://discord.com/api/webhooks/", "123456789", 18}, {"/", wordlike, 68}}},
		one("docker", "dckr_pat_", wordlike, 27),
		one("doppler", "dp.pt.", alnum, 43),
		{"dynatrace", []piece{{"dt0c01.", upper + digits, 24}, {".", upper + digits, 64}}},
		one("figma", "figd_", wordlike, 40),
		one("fly", "fo1_", wordlike, 43),
		one("github", "ghp_", alnum, 36),
		one("github", "ghs_", alnum, 36),
		{"github", []piece{{"github_pat_", alnum, 22}, {"_", alnum, 59}}},
		one("gitlab", "glpat-", wordlike, 20),
		one("gitlab", "glrt-", wordlike, 20),
		one("google", "AIza", wordlike, 35),
		one("google", "ya29.", wordlike, 60),
		one("google", "GOCSPX-", wordlike, 28),
		{"grafana", []piece{{"glsa_", alnum, 32}, {"_", hexa, 8}}},
		one("groq", "gsk_", alnum, 52),
		one("heroku", "HRKU-", wordlike, 60),
		one("huggingface", "hf_", alnum, 34),
		one("linear", "lin_api_", alnum, 40),
		{"mailchimp", []piece{{"", hexa, 32}, {"-us", "123456789", 1}}},
		one("mailgun", "key-", hexa, 32),
		one("newrelic", "NRAK-", upper+digits, 27),
		one("notion", "ntn_", alnum, 46),
		one("npm", "npm_", alnum, 36),
		one("openai", "sk-proj-", wordlike, 48),
		{"openai", []piece{{"sk-", alnum, 20}, {"T3BlbkFJ", alnum, 20}}},
		one("planetscale", "pscale_tkn_", wordlike, 43),
		{"postman", []piece{{"PMAK-", hexa, 24}, {"-", hexa, 34}}},
		one("pulumi", "pul-", hexa, 40),
		one("pypi", "pypi-AgEIcHlwaS5vcmc", wordlike, 80),
		one("rubygems", "rubygems_", hexa, 48),
		{"sendgrid", []piece{{"SG.", wordlike, 22}, {".", wordlike, 43}}},
		one("sentry", "sntrys_", alnum, 60),
		one("shopify", "shpat_", hexa, 32),
		{"slack", []piece{{"xoxb-", digits, 12}, {"-", digits, 12}, {"-", alnum, 24}}},
		{"slack", []piece{{"https://hooks.slack.com/services/T", upper, 8}, {"/B", upper, 8}, {"/", alnum, 24}}},
		one("square", "sq0csp-", wordlike, 43),
		one("stripe", "sk_live_", alnum, 24),
		one("stripe", "rk_test_", alnum, 24),
		one("stripe", "whsec_", alnum, 32),
		one("supabase", "sbp_", hexa, 40),
		{"telegram", []piece{{"", "123456789", 9}, {":AA", wordlike, 33}}},
		{"terraform", []piece{{"", alnum, 14}, {".atlasv1.", alnum, 67}}},
		one("vault", "hvs.", wordlike, 90),
	}
}
