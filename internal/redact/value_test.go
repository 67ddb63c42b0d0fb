package redact

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestValue(t *testing.T) {
	visa := strings.Repeat("4242", 4)
	for _, test := range []struct{ name, in, want string }{
		{"clean", `{"a":[1,2.5,true,null,"x"],"ts":1724840130123}`, `{"a":[1,2.5,true,null,"x"],"ts":1724840130123}`},
		{"strings at any depth", `{"a":[{"b":"to a@example.org"}]}`, `{"a":[{"b":"to [redacted:email]"}]}`},
		{"values of secret names are taken whole", `{"password":{"old":"a","new":["b"]},"api_key":17,"Authorization":["x"]}`,
			`{"Authorization":"[redacted:authorization]","api_key":"[redacted:secret]","password":"[redacted:password]"}`},
		{"names in every style", `{"dbPassword":"a","X-Api-Key":"b","access_token":"c","private.key":"d","Set-Cookie":"e","clientSecret":"f","smtp_pass":"g"}`,
			`{"Set-Cookie":"[redacted:cookie]","X-Api-Key":"[redacted:secret]","access_token":"[redacted:secret]","clientSecret":"[redacted:secret]","dbPassword":"[redacted:password]","private.key":"[redacted:secret]","smtp_pass":"[redacted:password]"}`},
		{"names that only contain one", `{"max_tokens":9,"password_hash_cost":12,"secretary":"Ada","bypass":"no","cookie_count":3}`,
			`{"max_tokens":9,"password_hash_cost":12,"secretary":"Ada","bypass":"no","cookie_count":3}`},
		{"names with a tail", `{"passwords":["a"],"token2":"b","password_confirmation":"c","secretValue":"d","private_key_pem":"e","session_id":"f","auth":"g","otp":123456,"author":"Ada"}`,
			`{"passwords":"[redacted:password]","token2":"[redacted:secret]","password_confirmation":"[redacted:password]","secretValue":"[redacted:secret]","private_key_pem":"[redacted:secret]","session_id":"[redacted:secret]","auth":"[redacted:secret]","otp":"[redacted:secret]","author":"Ada"}`},
		{"pairs of name and value", `{"env":[{"name":"DB_PASSWORD","value":"a"},{"name":"HOST","value":"b"}],"headers":[["Authorization","c"],["Accept","d"]],"s":["no password","e"]}`,
			`{"env":[{"name":"DB_PASSWORD","value":"[redacted:password]"},{"name":"HOST","value":"b"}],"headers":[["Authorization","[redacted:authorization]"],["Accept","d"]],"s":["no password","e"]}`},
		{"answers of validators", `[{"loc":["body","password"],"input":"a"},{"field":"pin","rejectedValue":1234},{"value":"b","msg":"short","path":"api_key"},{"property":"email","value":"c"},{"loc":["body","token"],"type":"missing","input":{"n":1}}]`,
			`[{"loc":["body","password"],"input":"[redacted:password]"},{"field":"pin","rejectedValue":"[redacted:password]"},{"value":"[redacted:secret]","msg":"short","path":"api_key"},{"property":"email","value":"c"},{"loc":["body","token"],"type":"missing","input":{"n":1}}]`},
		{"stores of secrets", `[{"Name":"/prod/db","Type":"SecureString","Value":"a"},{"ParameterKey":"DBPassword","ParameterValue":"b"},{"kind":"Secret","stringData":{"db":"c"}},{"kind":"ConfigMap","data":{"db":"d"}},{"SecretString":"e","Name":"db"}]`,
			`[{"Name":"/prod/db","Type":"SecureString","Value":"[redacted:secret]"},{"ParameterKey":"DBPassword","ParameterValue":"[redacted:password]"},{"kind":"Secret","stringData":"[redacted:secret]"},{"kind":"ConfigMap","data":{"db":"d"}},{"SecretString":"[redacted:secret]","Name":"db"}]`},
		{"paths of requests are no names", `{"path":"/oauth/token","status":401,"data":"a"}`, `{"path":"/oauth/token","status":401,"data":"a"}`},
		{"nothing is no secret", `{"password":null,"secret":true,"token":""}`, `{"password":null,"secret":true,"token":""}`},
		{"card numbers that are numbers", `{"n":` + visa + `}`, `{"n":"[redacted:card]"}`},
		{"secrets in names", `{"b@example.org":1,"a@example.org":2}`, `{"[redacted:email]":2,"[redacted:email] (2)":1}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			in, want := decode(t, test.in), decode(t, test.want)
			got, evidence := Default().Value(in)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if !reflect.DeepEqual(in, decode(t, test.in)) {
				t.Errorf("the argument became %v", in)
			}
			if changed := !reflect.DeepEqual(in, got); changed != (len(evidence) > 0) {
				t.Errorf("evidence %v for %v", evidence, got)
			}
			if again, more := Default().Value(got); !reflect.DeepEqual(again, got) || more != nil {
				t.Errorf("cleaned twice: %v (%v)", again, more)
			}
		})
	}
}

func decode(t *testing.T, s string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestValueOfOtherTypes(t *testing.T) {
	visa := strings.Repeat("4242", 4)
	for _, test := range []struct{ in, want any }{
		{json.Number("17"), json.Number("17")},
		{json.Number(visa), "[redacted:card]"},
		{int64(17), int64(17)},
		{4242424242424242, "[redacted:card]"},
		{struct{ Key string }{"x"}, "[redacted:unsupported]"},
	} {
		if got, _ := Default().Value(test.in); got != test.want {
			t.Errorf("%v became %v, want %v", test.in, got, test.want)
		}
	}
}

func TestValueDepth(t *testing.T) {
	var v any = "a@example.org"
	for range 10_000 {
		v = []any{v}
	}
	got, evidence := Default().Value(v)
	if evidence[tooDeep] != 1 || len(evidence) != 1 {
		t.Errorf("evidence %v", evidence)
	}
	if again, more := Default().Value(got); more != nil || !reflect.DeepEqual(again, got) {
		t.Errorf("cleaned twice: %v", more)
	}
}

func TestCleanValueIsNotCopied(t *testing.T) {
	v := map[string]any{"a": []any{"x", 1.5, map[string]any{"b": nil}}, "limit": json.Number("5")}
	if n := testing.AllocsPerRun(100, func() { Default().Value(v) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestArgumentsOfCommands has commands as arrays of their arguments.
func TestArgumentsOfCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ items, want []any }{
		{[]any{"curl", "-u", "ada:hunter2X9", "https://x"}, []any{"curl", "-u", "[redacted:command]", "https://x"}},
		{[]any{"mysql", "-uroot", "-phunter2X9", "app"}, []any{"mysql", "-uroot", "-p[redacted:command]", "app"}},
		{[]any{"docker", "login", "-p", "correct \"horse\" 7"}, []any{"docker", "login", "-p", "[redacted:command]"}},
		{[]any{"sshpass", "-p", "[redacted:command]", "ssh"}, []any{"sshpass", "-p", "[redacted:command]", "ssh"}},
		{[]any{"mkdir", "-p", "/srv/app2"}, []any{"mkdir", "-p", "/srv/app2"}},
		{[]any{"docker", "run", "-p", "8080:80", "nginx2"}, []any{"docker", "run", "-p", "8080:80", "nginx2"}},
		{[]any{"mysql", 1, "-phunter2X9"}, []any{"mysql", 1, "-phunter2X9"}},
		{[]any{}, []any{}},
	} {
		before := fmt.Sprint(c.items)
		got, _ := Default().Value(c.items)
		if !reflect.DeepEqual(got, any(c.want)) {
			t.Errorf("%q: got %q, want %q", c.items, got, c.want)
		}
		if fmt.Sprint(c.items) != before {
			t.Errorf("%s was changed to %q", before, c.items)
		}
	}
}
