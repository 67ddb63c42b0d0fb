package s3

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// env makes an environment of NAME=VALUE.
func env(pairs ...string) func(string) string {
	values := map[string]string{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		values[name] = value
	}
	return func(name string) string { return values[name] }
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ address, env, want, url string }{
		{"s3://acme/", "AWS_REGION=eu-west-1", "s3://acme", "https://acme.s3.eu-west-1.amazonaws.com/x"},
		{"s3://acme/a/b/", "AWS_DEFAULT_REGION=cn-north-1", "s3://acme/a/b", "https://acme.s3.cn-north-1.amazonaws.com.cn/a/b/x"},
		{"s3://acme.events/a", "AWS_REGION=eu-west-1", "s3://acme.events/a", "https://s3.eu-west-1.amazonaws.com/acme.events/a/x"},
		{"s3://acme/a", "AWS_ENDPOINT_URL=https://s3.example.com/", "s3://acme/a", "https://s3.example.com/acme/a/x"},
		{"s3://acme/a", "AWS_ENDPOINT_URL_S3=http://[::1]:9000/s3 AWS_ENDPOINT_URL=https://other", "s3://acme/a", "http://[::1]:9000/s3/acme/a/x"},
	} {
		at, err := locate(row.address, env(strings.Fields(row.env)...))
		if err != nil {
			t.Errorf("%s: %v", row.address, err)
			continue
		}
		u := *at.endpoint
		if u.Path = at.path(at.prefix + "x"); at.String() != row.want || u.String() != row.url {
			t.Errorf("%s is %s at %s, want %s", row.address, &at, &u, row.url)
		}
	}
}

func TestRefusedAddresses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ address, env, want string }{
		{"s3:/acme", "", `"s3:/acme" is not the address of a bucket: expected s3://BUCKET`},
		{"s3://id:secret@acme", "", `"s3://…@acme" is not the address of a bucket`},
		{"s3://acme?region=x", "", "keys and endpoints are set in the environment"},
		{"s3://Acme", "", `"Acme" cannot be the name of a bucket: expected 3 to 63`},
		{"s3://", "", `"" cannot be the name of a bucket`},
		{"s3://acme/a/../b", "", `has a part ".."`},
		{"s3://acme", "", "the region of the bucket is missing: set AWS_REGION"},
		{"s3://acme", "AWS_ENDPOINT_URL_S3=http://10.0.0.1", "AWS_ENDPOINT_URL_S3 is http://10.0.0.1: use https:// (http:// is allowed for loopback only)"},
		{"s3://acme", "AWS_ENDPOINT_URL=https://id:secret@host", "AWS_ENDPOINT_URL must be an address such as https://s3.example.com"},
		{"s3://acme", "AWS_ENDPOINT_URL=https://id:secret@ho%zzst", "AWS_ENDPOINT_URL is not an address"},
		{"s3://acme", "AWS_REGION=a", "there are no credentials for the object store: set AWS_ACCESS_KEY_ID"},
		{"s3://acme", "AWS_REGION=a AWS_ACCESS_KEY_ID=k", "the key id k and no secret key"},
		{"s3://acme", "AWS_REGION=a AWS_SECRET_ACCESS_KEY=secret", "a secret key and no key id"},
	} {
		_, err := Open(Options{Address: row.address, Getenv: env(strings.Fields(row.env)...), Now: time.Now})
		if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "secret@") || strings.Contains(err.Error(), "id:secret") {
			t.Errorf("%s with %s: %v", row.address, row.env, err)
		}
	}
}

// Keys in the shared file are those of the profile, as they are now.
func TestSharedCredentials(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, ".aws", "credentials")
	write := func(text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	who, other := findCredentials(env("HOME="+home)), findCredentials(env("HOME="+home, "AWS_PROFILE=files"))
	if _, err := who(); err == nil || !strings.Contains(err.Error(), "there are no credentials") {
		t.Error(err)
	}
	write("# aws_secret_access_key = no\n[default]\naws_access_key_id = a\naws_secret_access_key=b=\n\n[ files ]\naws_access_key_id=c\naws_secret_access_key=d\naws_session_token=e\n")
	if got, err := who(); err != nil || got != (credentials{"a", "b=", ""}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := other(); err != nil || got != (credentials{"c", "d", "e"}) {
		t.Errorf("%v, %v", got, err)
	}
	write("[default]\naws_access_key_id = f\naws_secret_access_key = g\n")
	if got, err := who(); err != nil || got.id != "f" {
		t.Errorf("a key that was replaced: %v, %v", got, err)
	}
	if _, err := other(); err == nil || !strings.Contains(err.Error(), `no keys in the profile "files"`) {
		t.Error(err)
	}
}
