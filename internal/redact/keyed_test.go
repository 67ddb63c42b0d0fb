package redact

import (
	"strings"
	"testing"
)

// TestPasswordsInEveryNotation hides one password behind every way to write it.
func TestPasswordsInEveryNotation(t *testing.T) {
	const secret = "Hunter" + "2x"
	for _, text := range []string{
		"password=[x]SECRET", "password={ab}SECRET", "password=[redacted:email]SECRET", `password=""SECRET""`,
		`"password":"@SECRET"`, "password=:SECRET", "password%3DSECRET", "password%253DSECRET", "%22password%22%3A%22SECRET%22",
		"password&quot;:&quot;SECRET&quot;", `\u0022password\u0022:\u0022SECRET\u0022`, `password="""SECRET"""`, "password='''SECRET'''",
		"password=$'SECRET'", "password=r'SECRET'", "password=rb'SECRET'",
		"db_pass: SECRET", "smtp-pass: SECRET", "password[]=SECRET", "password[0]=SECRET", "user%5Bpassword%5D=SECRET",
		"<password type='x'>SECRET</password>", "password=          SECRET",
		"a: 1\npassword: |\n  first\n  SECRET\nb: 2", "a:\n  password: >-\n\n    SECRET\n  b: 2", "secrets:\n  password: |\n    SECRET\n", "{\"password\":\n  \"SECRET\"}", "password =\r\n\t'SECRET'",
		"passwords=SECRET", "password1=SECRET", "password_confirmation=SECRET", "passwordConfirm=SECRET", "token_value=SECRET", "private_key_pem=SECRET",
		"<password><![CDATA[SECRET]]></password>", `\u003cpassword\u003e\u003c![CDATA[SECRET]]\u003e\u003c/password\u003e`,
		`password="a"SECRET`, `password='a''SECRET'`, `password="a"'b'SECRET`, `{"password": "a"SECRET}`, "Password:\nSECRET\n", "token =\r\n  SECRET\r\nok",
		"session_id=SECRET", "auth=SECRET", "otp=SECRET", `"api_keys":["SECRET"]`,
	} {
		clean, evidence := Default().String(strings.ReplaceAll(text, "SECRET", secret))
		if strings.Contains(clean, secret[2:]) || len(evidence) == 0 {
			t.Errorf("%q became %q", text, clean)
		}
		if again, more := Default().String(clean); again != clean || more != nil {
			t.Errorf("%q cleaned twice: %q became %q", text, clean, again)
		}
	}
	for _, text := range []string{ // short words that are values only because of their form
		`"password":"@` + `dministrator"`, "password=:" + "letmein",
	} {
		if clean, _ := Default().String(text); !strings.Contains(clean, "[redacted:password]") {
			t.Errorf("%q became %q", text, clean)
		}
	}
}

// TestAroundPasswords says where a value on several lines ends.
func TestAroundPasswords(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"a: 1\npassword: |\n  x1\n  y2\nb: 2", "a: 1\npassword: |\n  [redacted:password]\nb: 2"},
		{"{\"password\":\n  \"x1\",\n  \"n\": 1}", "{\"password\":\n  \"[redacted:password]\",\n  \"n\": 1}"},
		{"%22password%22%3A%22x1%22%2C%22n%22%3A1", "%22password%22%3A%22[redacted:password]%22%2C%22n%22%3A1"},
		{"invalid password:\n  at auth.check(auth.go:17)", "invalid password:\n  at auth.check(auth.go:17)"},
		{"unexpected token:\n/srv/app7/main.js:17", "unexpected token:\n/srv/app7/main.js:17"},
		{"password:\nexpected", "password:\nexpected"},
		{`password="x1", user='y'`, `password="[redacted:password]", user='y'`},
		{`password=""; user='y'`, `password=""; user='y'`},
		{"where password = :name and secret = @other, 1", "where password = :name and secret = @other, 1"},
		{"auth: ok, author=Ada, tokens=[12, 7], laptop=1", "auth: ok, author=Ada, tokens=[12, 7], laptop=1"},
	} {
		if got, _ := Default().String(test.in); got != test.want {
			t.Errorf("got  %q\nwant %q", got, test.want)
		}
	}
}

// TestContinuedLinesAreReadOnce counts the work on names that each seem to be
// continued on the next, deeper line.
func TestContinuedLinesAreReadOnce(t *testing.T) {
	work := func(n int) int {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.Repeat(" ", i) + "token: |\n")
		}
		return Default().find(b.String()).work * 1000 / b.Len()
	}
	if few, many := work(50), work(200); many > 2*few {
		t.Errorf("work for 1000 bytes: %d of few lines, %d of many", few, many)
	}
}
