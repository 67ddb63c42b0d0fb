package endtoend

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/archive/s3/s3test"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// until runs the job until the node's log has a text.
func (f *filer) until(want string) {
	f.Helper()
	for try := 0; !strings.Contains(f.log.String(), want); try++ {
		if _, said, _ := f.recoup("jobs", "run", "event-files"); try == patience || retry.Sleep(f.Context(), 20*time.Millisecond) != nil {
			f.Fatalf("the log has no %q: %s\n%s", want, said, f.log)
		}
	}
}

// A node starts although its object store is away, notes that nothing is filed, and files
// all of it when the store is back.
func TestObjectStoreAway(t *testing.T) {
	tier.Only(t, tier.Archive)
	onEither(t, func(t *testing.T, d database) {
		f := inBucket(t, d)
		f.store.Kill()
		f.begin(50, "--event-files", f.place)
		f.until("no answer from " + f.store.URL)
		// It is behind by five days, and people are notified after three.
		for try := 0; ; try++ { // until the job has noted it
			found, said, err := f.recoup("doctor")
			jobs, _, listed := f.recoup("jobs", "list", "--json")
			if err != nil && strings.Contains(found+said, "event-files") && listed == nil && strings.Contains(jobs, "no answer from") {
				break
			}
			if try == patience || retry.Sleep(t.Context(), 20*time.Millisecond) != nil {
				t.Fatalf("the doctor: %v: %s%s\nthe jobs: %v: %s", err, found, said, listed, jobs)
			}
		}
		if _, said, err := f.recoup("export", "parquet", "--to-dir", f.place); err == nil || !strings.Contains(said, "no answer from "+f.store.URL) || strings.Contains(said, "No day") {
			t.Errorf("an export: %v: %s", err, said)
		}
		f.store.Restart()
		f.fiveDays()
		f.compare()
		for try := 0; ; try++ { // until the job has noted that it has caught up
			out, said, _ := f.recoup("doctor")
			if !strings.Contains(out+said, "event-files") {
				break
			}
			if _, _, err := f.recoup("jobs", "run", "event-files"); try == patience || retry.Sleep(t.Context(), 20*time.Millisecond) != nil {
				t.Fatalf("the doctor still finds it: %v: %s%s", err, out, said)
			}
		}
	})
}

// Settings with which no file could ever be written are refused when a node starts; a key
// that the store does not take is no reason not to start, and is explained.
func TestObjectStoreRefuses(t *testing.T) {
	tier.Only(t, tier.Archive)
	onEither(t, func(t *testing.T, d database) {
		f := inBucket(t, d)
		env := f.env
		for _, row := range []struct{ place, change, want string }{
			{"s3://Acme", "", `"Acme" cannot be the name of a bucket`},
			{f.place, "AWS_ACCESS_KEY_ID= AWS_SECRET_ACCESS_KEY=", "/dev/null has no keys in the profile"},
			{f.place, "AWS_SECRET_ACCESS_KEY=", "no secret key: set AWS_SECRET_ACCESS_KEY"},
			{f.place, "AWS_ENDPOINT_URL_S3=http://10.0.0.1:9000", "use https:// (http:// is allowed for loopback only)"},
		} {
			f.env, f.flags = slices.Concat(env, strings.Fields(row.change)), []string{"--event-files", row.place}
			if said := f.refuses(); !strings.Contains(said, row.want) || !strings.Contains(said, "--event-files") {
				t.Errorf("%s with %s: %s", row.place, row.change, said)
			}
		}
		f.env, f.flags = slices.Concat(env, []string{"AWS_SECRET_ACCESS_KEY=hush-hush"}), nil
		f.begin(10, "--event-files", f.place)
		f.until("correct AWS_SECRET_ACCESS_KEY")
		if err := f.signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		f.env, f.flags = env, []string{"--event-files", "s3://other"}
		f.start()
		f.until(`has no bucket \"other\": create it, or name another`)
		if log := f.log.String(); strings.Contains(log, "hush-hush") || strings.Contains(log, s3test.Secret) || strings.Contains(log, "Signature=") {
			t.Error("the log has a secret in it")
		}
	})
}
