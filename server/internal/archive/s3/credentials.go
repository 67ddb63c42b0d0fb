package s3

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// credentials are who asks.
type credentials struct{ id, secret, token string }

// findCredentials looks where AWS's own tools look first: in the environment, then in the
// file that they share. The file is read for every request, so that keys in it can be
// replaced while a node runs.
func findCredentials(getenv func(string) string) func() (credentials, error) {
	c := credentials{getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY"), getenv("AWS_SESSION_TOKEN")}
	if c.id != "" || c.secret != "" {
		return func() (credentials, error) { return c, c.check("the environment has") }
	}
	path, profile := getenv("AWS_SHARED_CREDENTIALS_FILE"), cmp.Or(getenv("AWS_PROFILE"), "default")
	if path == "" && getenv("HOME") != "" {
		path = filepath.Join(getenv("HOME"), ".aws", "credentials")
	}
	return func() (credentials, error) { return readCredentials(path, profile) }
}

// check wants both halves of a key.
func (c credentials) check(where string) error {
	switch {
	case c.id == "":
		return fmt.Errorf("%s a secret key and no key id: set AWS_ACCESS_KEY_ID beside AWS_SECRET_ACCESS_KEY", where)
	case c.secret == "":
		return fmt.Errorf("%s the key id %s and no secret key: set AWS_SECRET_ACCESS_KEY", where, c.id)
	}
	return nil
}

var errNoCredentials = errors.New("there are no credentials for the object store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or put a profile into ~/.aws/credentials (an instance's own role is not asked for)")

// readCredentials reads a profile of the shared file.
func readCredentials(path, profile string) (c credentials, err error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return c, errNoCredentials
	}
	if err != nil {
		return c, err
	}
	defer func() { _ = file.Close() }()
	section := ""
	values := map[string]string{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if name, found := strings.CutPrefix(line, "["); found {
			section = strings.TrimSpace(strings.TrimSuffix(name, "]"))
		} else if name, value, found := strings.Cut(line, "="); found && section == profile && !strings.HasPrefix(line, "#") {
			values[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	if err := lines.Err(); err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	c = credentials{values["aws_access_key_id"], values["aws_secret_access_key"], values["aws_session_token"]}
	if c.id == "" && c.secret == "" {
		return c, fmt.Errorf("%s has no keys in the profile %q: set AWS_PROFILE to one that has, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", path, profile)
	}
	return c, c.check(path + " has")
}
