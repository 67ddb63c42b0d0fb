package redact

import "testing"

const cleanLine = `2024-08-28T10:15:30.123456Z INFO worker-10-0-0-1 outreach.dol_errors: retry 3/5 of 0190a6f2-1b2c-7def-8abc-0123456789ab in 32s after NETWORK_TIMEOUT (status=504 bytes=10485 ts=1724840130123 dur=1.523s)`

// TestCleanTextStays holds texts that look a little like secrets and are none.
func TestCleanTextStays(t *testing.T) {
	for _, text := range []string{
		"", cleanLine,
		// stacks
		"goroutine 17 [running]:\nnet/http.(*conn).serve(0xc0000b2000, {0x7f2e48, 0xc00009e0f0})\n\t/usr/local/go/src/net/http/server.go:2009 +0x5f4\ncreated by net/http.(*Server).Serve in goroutine 1\n",
		"\tat com.example.auth.TokenService.refreshToken(TokenService.java:142)\n\tat java.base/java.lang.Thread.run(Thread.java:1583)\njava.lang.Object@15db9742",
		"Traceback (most recent call last):\n  File \"/srv/app/secrets/loader.py\", line 31, in <module>\nKeyError: 'password'",
		"/go/pkg/mod/github.com/jackc/pgx/v5@v5.11.0/pgconn/pgconn.go:412 golang.org/x/term@v0.47.0/term.go mod@v0.0.0-20190213212951-d06e56a500db/a.go",
		"core::result::unwrap_failed at library/core/src/result.rs:1654 std::vec::Vec<T> abc::def ns::a1::b2 a[1::2] x[::2]",
		// SQL
		"SELECT id, password_hash, token_count FROM users WHERE password = $1 AND token = ? AND secret = :secret",
		"ERROR: duplicate key value violates unique constraint \"users_token_key\" (SQLSTATE 23505)",
		"password authentication failed for user \"app\"", "update t set price = 1999.99 where id = 5105105105 and n = 42",
		// ids, hashes, times
		"0190a6f2-4242-7424-8242-424242424242 0190a6f2-1111-1111-4242-424242424242 41111111-1111-4111-8111-111111111111 01JAH8ZJ0Z8Z0N7M1X6JZ8QW0T 01912345678901234567890123",
		"commit 9fceb02d0ae598e95dc970b74767f19372d61af8, blob e69de29, sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"W/\"0815-abcdef\" etag 5d41402abc4b2a76b9719d911017c592 span 4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"2024-08-28 10:15:30 +0000 UTC 28/Aug/2024:10:15:30 10:15:30.123 20240828101530 1724840130123 1724840130123456789 Wed, 28 Aug 2024 10:15:30 GMT",
		"mac 00:1a:2b:3c:4d:5e ratio 16:9 at 12:34:56:78 main.go:12:7",
		// numbers
		"0.4532015112830366 1.4111111111111111 $1,234.56 EUR 4.111,11 99.95 12345678901234567890123 -17 1e-9 0x7fff5fbff8a0 4242424242424243",
		"zip 12345-6789 000-12-3456 666-12-3456 900-12-3456 123-45-67890 1-123-45-6789 123-45-6789-1",
		"v1.2.3 go1.26.8 1.2.3-rc.1 v1.2.3.4 10.0.19041.1 1.3.6.1.4.1.311 256.1.1.1 8.0.36 node 20.11.1",
		"127.0.0.1:5432 [::1]:8080 0.0.0.0:80 :: localhost",
		// names
		"db-1.eu-west-1.internal ip-10-0-0-1.ec2.internal worker-10-0-0-1 task-1234 risk-99 disk-1 key-value akia gh_pages pk_orders npm_install secret_name",
		"/srv/data/2024/08/28/part-0001.parquet C:\\Users\\app\\token.txt /oauth/token /v1/keys/{id} ./.github/workflows/ci.yml icon@2x.png getty@tty1.service",
		"map[string]interface {} *auth.Token []secret.Ref Result<Token> Vec<Token>(x) func(password string) error type Cookie struct { Name string }",
		"git clone git@github.com:org/repo.git lodash@4.17.21.tgz @types/node @override",
		"CO-20240828-000001 SL-CO-20240828-000001-CEO PE-20240801-000123 outreach.dol_errors RATE_LIMIT_EXCEEDED req_auth_001",
		// prose
		"Expected format: rdb_[32_chars]", "unexpected token: '<' in JSON at position 0", "invalid token: expired", "unexpected token: end of input",
		"basic authentication is off, use bearer authentication", "the password must have 12 characters; passwords and tokens expire", "max_tokens=4096 tokens: 512 token_type=bearer password_reset=true",
		"password=null token=nil secret=<nil> password=*** password=\"\" token=%s secret=${VAULT} password={{.Password}} token=true", "--- PASS: TestRedact64KiB (0.00s)", "PWD=/srv/app OLDPWD=/",
		"authorization: denied", "cookie: missing", "-----END-----", "eyJ is how a token begins; eyJhbGciOiJIUzI1NiJ9",
		"user@host me@ @ 50%40 a@b", "[redacted:email] password=[redacted:password] Bearer [redacted:jwt] postgres://[redacted:url]@db/x",
		"日本語のログ: 失敗しました — naïve café ✓", "\xff\xfe broken \x80 bytes",
	} {
		if clean, evidence := Default().String(text); clean != text || evidence != nil {
			t.Errorf("%q\nbecame %q (%v)", text, clean, evidence)
		}
	}
}
