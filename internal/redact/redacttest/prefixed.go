package redacttest

// prefixedShapes are the keys of services that are not told apart, and keys with a prefix of any service.
func prefixedShapes() []shape {
	return []shape{
		one("vendor", "amzn1.oa2-cs.v1.", hexa, 64), uuid("vendor", "amzn.mws."), one("vendor", "Atza|", alnum, 120),
		{"vendor", []piece{{"AVNS_aB1", alnum, 16}}},
		one("vendor", "bedrock-api-key-", alnum, 100), one("vendor", "e2b_", hexa, 40), one("vendor", "esecret_", lowerDigits, 26),
		{"vendor", []piece{{"fw_aB1xY", alnum, 18}}}, {"vendor", []piece{{"npg_aB1xY", alnum, 8}}},
		one("vendor", "AQ.Ab8", wordlike, 44), one("vendor", "signkey-prod-", hexa, 64), one("vendor", "slk_", hexa, 64),
		{"vendor", []piece{{"snyk_uat.", hexa, 8}, {".", alnum, 80}}}, one("vendor", "secret-live-", wordlike, 36),
		one("vendor", "v4.local.", wordlike, 120), {"vendor", []piece{{"SWMTKN-1-", lowerDigits, 50}, {"-", lowerDigits, 25}}}, one("vendor", "sha256~", wordlike, 43),
		{"vendor", []piece{{"token-", lower, 5}, {":", lowerDigits, 54}}}, one("vendor", "rpa_", upper+digits, 40), uuidBefore("vendor", ":fx"),
		one("vendor", "cs_", hexa, 40), {"vendor", []piece{{"zpka_", hexa, 32}, {"_", hexa, 8}}}, {"vendor", []piece{{"live_", "123456789", 9}, {"_", alnum, 30}}},
		{"vendor", []piece{{"", alnum, 52}, {"JQQJ99", alnum, 26}}}, {"vendor", []piece{{"", alnum, 42}, {"AzSeB", alnum, 5}}},
		{"prefixed", []piece{{"apify_api_aQ7xK2mZ9v", alnum, 26}}}, {"prefixed", []piece{{"llx-aQ7xK2mZ9vB4", alnum, 36}}}, {"prefixed", []piece{{"tok_live_aQ7xK2mZ9vB4nR8t", alnum, 8}}},
		{"cookie", []piece{{"wordpress_logged_in_", hexa, 32}, {"=ada%7C1763500000%7C", alnum, 43}, {"%7C", hexa, 64}}},
	}
}

// prefixed makes one of each. It comes last, so that the other samples of a seed stay.
func (m maker) prefixed() (list []Sample) {
	for _, shape := range prefixedShapes() {
		list = append(list, m.vendor(shape))
	}
	return list
}

func uuidBefore(rule, suffix string) shape {
	s := uuid(rule, "")
	s.pieces = append(s.pieces, piece{fixed: suffix})
	return s
}
