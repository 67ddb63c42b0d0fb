package s3

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// Scheme is how the address of a bucket begins.
const Scheme = "s3://"

// location is where a bucket is.
type location struct {
	bucket, prefix string // the prefix is empty or ends with a slash
	region         string
	endpoint       *url.URL
	inPath         bool // the bucket is in the path of an address, not in its host
}

var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// locate reads the address of a bucket, and from the settings of AWS's own tools where its
// server is.
func locate(address string, getenv func(string) string) (at location, err error) {
	rest, found := strings.CutPrefix(address, Scheme)
	at.bucket, at.prefix, _ = strings.Cut(rest, "/")
	switch {
	case !found || strings.ContainsAny(rest, "?#@"):
		return at, fmt.Errorf("%q is not the address of a bucket: expected s3://BUCKET or s3://BUCKET/PREFIX; keys and endpoints are set in the environment", hideUser(address))
	case !bucketName.MatchString(at.bucket) || strings.Contains(at.bucket, ".."):
		return at, fmt.Errorf("%q cannot be the name of a bucket: expected 3 to 63 small letters, digits, dots and hyphens, as in s3://acme-events/recoup", at.bucket)
	}
	if at.prefix = strings.Trim(at.prefix, "/"); at.prefix != "" {
		at.prefix += "/"
	}
	for part := range strings.SplitSeq(at.prefix, "/") {
		if part == "." || part == ".." {
			return at, fmt.Errorf("the prefix %q has a part %q: expected names with slashes between them", at.prefix, part)
		}
	}
	at.region = cmp.Or(getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"))
	return at, at.findEndpoint(getenv)
}

// hideUser leaves out what may be a key that somebody wrote into an address.
func hideUser(address string) string {
	scheme, rest, found := strings.Cut(address, "://")
	if at := strings.LastIndex(rest, "@"); found && at >= 0 {
		return scheme + "://…" + rest[at:]
	}
	return address
}

// findEndpoint takes the endpoint that was set, or else AWS's own of the region.
func (l *location) findEndpoint(getenv func(string) string) error {
	name := "AWS_ENDPOINT_URL_S3"
	if getenv(name) == "" {
		name = "AWS_ENDPOINT_URL"
	}
	if given := getenv(name); given != "" {
		u, err := url.Parse(given)
		if err == nil {
			err = checkEndpoint(u)
		}
		if err != nil {
			return fmt.Errorf("%s %w", name, withoutAddress(err))
		}
		l.endpoint, l.inPath, l.region = u, true, cmp.Or(l.region, "us-east-1")
		l.endpoint.Path = strings.TrimSuffix(u.Path, "/")
		return nil
	}
	if l.region == "" {
		return errors.New("the region of the bucket is missing: set AWS_REGION, such as eu-central-1; for another server than AWS's set AWS_ENDPOINT_URL_S3")
	}
	host := "s3." + l.region + ".amazonaws.com"
	if strings.HasPrefix(l.region, "cn-") {
		host += ".cn"
	}
	// The certificate is for one name below the host, which a dot would end.
	if l.inPath = strings.Contains(l.bucket, "."); !l.inPath {
		host = l.bucket + "." + host
	}
	l.endpoint = &url.URL{Scheme: "https", Host: host}
	return nil
}

// checkEndpoint wants https, or http to this machine.
func checkEndpoint(u *url.URL) error {
	if u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("must be an address such as https://s3.example.com, without a user or a query")
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("is %s: use https:// (http:// is allowed for loopback only)", u)
	}
	return nil
}

// withoutAddress takes off the address that net/url repeats, which may have a key in it.
func withoutAddress(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return errors.New("is not an address; expected https://HOST[:PORT]")
	}
	return err
}

// String is the address of the bucket and its prefix.
func (l *location) String() string {
	return strings.TrimSuffix(Scheme+l.bucket+"/"+l.prefix, "/")
}

// path is that of an object's address, or of the bucket's if key is empty.
func (l *location) path(key string) string {
	if l.inPath {
		return l.endpoint.Path + "/" + l.bucket + "/" + key
	}
	return l.endpoint.Path + "/" + key
}
