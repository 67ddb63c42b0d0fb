package endtoend

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/recoup-dev/recoup/server/internal/test/tool"
	"github.com/recoup-dev/recoup/server/test/program"
)

const deployed = "../../../deploy/"

// TestKubernetesManifest reads the manifest as the API server does with strict validation, and sees
// that a mistake is found.
func TestKubernetesManifest(t *testing.T) {
	t.Parallel()
	manifest := deployed + "kubernetes/recoup.yaml"
	if out, err := tool.Command(t.Context(), "kubernetes-check", manifest).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for right, wrong := range map[string]string{
		"secretName: recoup-tls": "secretname: recoup-tls", "image: recoup:0.1.0": "image: recoup", "{name: tls, mountPath": "{name: tsl, mountPath",
		"replicas: 2": `replicas: "2"`,
	} {
		file := filepath.Join(t.TempDir(), "wrong.yaml")
		if err := os.WriteFile(file, []byte(strings.Replace(string(text), right, wrong, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := tool.Command(t.Context(), "kubernetes-check", file).CombinedOutput(); err == nil || !strings.Contains(string(text), right) {
			t.Errorf("%s is accepted: %s", wrong, out)
		}
	}
}

// TestComposeFiles holds the compose files to the schema of the Compose Specification, and to a tag
// for every image.
func TestComposeFiles(t *testing.T) {
	t.Parallel()
	compiler := jsonschema.NewCompiler()
	schema, err := compiler.Compile("testdata/compose-spec.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"compose.yaml", "compose.tls.yaml"} {
		text, err := os.ReadFile(deployed + "compose/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var services struct {
			Services map[string]struct {
				Image       string
				Secrets     []string
				Environment map[string]string
			}
		}
		data, err := yaml.YAMLToJSON(text)
		if err == nil {
			err = json.Unmarshal(data, &services)
		}
		var content any
		if err == nil {
			content, err = jsonschema.UnmarshalJSON(strings.NewReader(string(data)))
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(content); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for service, s := range services.Services {
			if s.Image != "" && !regexp.MustCompile(`:v?\d[^:/]*$`).MatchString(s.Image) {
				t.Errorf("%s: the image %q of %s has no tag", name, s.Image, service)
			}
		}
		for variable, file := range services.Services["recoup"].Environment {
			if secret, ok := strings.CutPrefix(file, "/run/secrets/"); ok && !slices.Contains(services.Services["recoup"].Secrets, secret) {
				t.Errorf("%s: %s names the secret %s, which the service does not have", name, variable, secret)
			}
		}
	}
}

// unitRoot is a root with the unit, its drop-ins and the program, as the pages say.
func unitRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	units := filepath.Join(root, "etc/systemd/system")
	for _, folder := range []string{units, filepath.Join(root, "usr/local/bin")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(units, os.DirFS(deployed+"systemd")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "usr/local/bin/recoup"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestSystemdUnit has systemd check the unit with its drop-ins, and rate its exposure.
func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	root := unitRoot(t)
	if out, err := tool.Command(t.Context(), "systemd-analyze", "verify", "--root="+root, "--man=no", "--recursive-errors=no", "recoup.service").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := tool.Command(t.Context(), "systemd-analyze", "security", "--root="+root, "--offline=true", "--threshold=20", "recoup.service").CombinedOutput(); err != nil {
		t.Errorf("its exposure is above 2.0: %v\n%s", err, out)
	}
}

// underUnit starts the node as the unit does, as far as it can without systemd: another user, no
// capabilities, no new privileges, a root that cannot be written but for the state directory, and
// credentials that are copies of files that only root can read.
const underUnit = `
set -euo pipefail
unit=$1 program=$2 etc=$3
mount --make-rprivate /
mkdir -p "$etc/run" "$etc/state"
mount -t tmpfs -o mode=0755 tmpfs "$etc/run"
mount -t tmpfs -o mode=0700,uid=64321,gid=64321 tmpfs "$etc/state"
settings=()
for file in "$unit" "$unit.d"/*.conf; do
  while IFS= read -r line; do
    line=${line//%d/$etc/run} line=${line//\/etc\/recoup/$etc} line=${line//\/var\/lib\/recoup/$etc/state}
    case $line in
    Environment=*) read -ra words <<<"${line#Environment=}"; settings+=("${words[@]}") ;;
    LoadCredential=*)
      credential=${line#LoadCredential=}
      install -m 0400 -o 64321 -g 64321 "${credential#*:}" "$etc/run/${credential%%:*}" ;;
    ExecStart=*) start=${line#ExecStart=} ;;
    esac
  done <"$file"
done
read -ra start <<<"${start/#\/usr\/local\/bin\/recoup/$program}"
mount -o remount,bind,ro /
for folder in /tmp /dev/shm; do mountpoint -q "$folder" && mount -o remount,bind,ro "$folder"; done
umask 0077
exec setpriv --reuid=64321 --regid=64321 --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs \
  env -i "${settings[@]}" STATE_DIRECTORY="$etc/state" RECOUP_LISTEN=127.0.0.1:0 "${start[@]}"
`

// TestSystemdUnitRuns starts the unit's command with its policy, its channels and its certificate.
func TestSystemdUnitRuns(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("namespaces, other users and mounts need root")
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || !regexp.MustCompile(`(?m)^\d+ \d+ \S+ \S+ / `).Match(mounts) {
		t.Skip("the root of this process is not a mount, as after chroot: it cannot be made read-only for the unit alone")
	}
	t.Parallel()
	a := newAuthority(t)
	a.issue("node", a)
	etc := reachableFolder(t)
	if out, err := tool.Command(t.Context(), program.Path(t), "init", filepath.Join(etc, "policy.yaml"), "--table", "app.errors", "--entity", "order_id", "--notify", "hook").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, from := range map[string]string{"tls.crt": a.file("node.pem"), "tls.key": a.file("node-key.pem"), "recoup": program.Path(t)} {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(etc, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	channels := "channels:\n  hook: {kind: webhook, url: \"https://hooks.example.com/\", secret: a-secret-of-16-characters}\n"
	for name, mode := range map[string]os.FileMode{"recoup": 0o755, "policy.yaml": 0o644} {
		if err := os.Chmod(filepath.Join(etc, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(etc, "recoup.yaml"), []byte(channels), 0o600); err != nil {
		t.Fatal(err)
	}
	unit, err := filepath.Abs(deployed + "systemd/recoup.service")
	if err != nil {
		t.Fatal(err)
	}
	log, heard, exited := &text{}, make(chan string, 1), make(chan error, 1)
	node := tool.Command(t.Context(), "unshare", "--mount", "bash", "-c", underUnit, "bash", unit, filepath.Join(etc, "recoup"), etc)
	node.Stdout, node.Stderr = log, &ear{text: log, heard: heard}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { exited <- node.Wait() }()
	select {
	case address := <-heard:
		trusting := httpTrusting(t, a.file("ca.pem"))
		answer, err := trusting.Get("https://" + address + "/readyz")
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("/readyz: %v %v\n%s", answer, err, log)
		}
		if err == nil {
			_ = answer.Body.Close()
		}
	case err := <-exited:
		t.Fatalf("it ended with %v\n%s", err, log)
	}
	if err := node.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := <-exited; err != nil {
		t.Errorf("it ended with %v\n%s", err, log)
	}
	if said := log.String(); !strings.Contains(said, "policy file applied") || strings.Contains(said, "can be read by other") {
		t.Errorf("it says\n%s", said)
	}
}
