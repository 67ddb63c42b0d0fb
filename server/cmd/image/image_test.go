package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/retry"
)

const repository = "../../.."

// built is an image of the program, built as scripts/release does.
func built(t *testing.T) layout {
	t.Helper()
	dist := t.TempDir()
	run := func(env []string, name string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = repository
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	run(nil, "scripts/image-context", dist)
	run([]string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-o", filepath.Join(dist, "recoup-linux-amd64"), "./server/cmd/recoup")
	for _, name := range []string{"LICENSE", "THIRD_PARTY_LICENSES"} {
		if err := os.WriteFile(filepath.Join(dist, name), []byte("licence"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	archive := filepath.Join(dist, "image.tar")
	for range 2 { // the second must not differ
		before, _ := os.ReadFile(archive)
		if err := buildImage([]string{filepath.Join(repository, "deploy/Dockerfile"), dist, archive, "recoup:1.2.3", "amd64"}); err != nil {
			t.Fatal(err)
		}
		if after, err := os.ReadFile(archive); err != nil || before != nil && !bytes.Equal(before, after) {
			t.Fatalf("the same input gives another image: %v", err)
		}
	}
	return readLayout(t, archive)
}

// readLayout reads an archive, and holds every blob to its digest.
func readLayout(t *testing.T, archive string) layout {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	l := layout{}
	for from := tar.NewReader(file); ; {
		header, err := from.Next()
		if errors.Is(err, io.EOF) {
			return l
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		if name, ok := strings.CutPrefix(header.Name, "blobs/sha256/"); ok && digest(data) != name {
			t.Errorf("the blob %s has the digest %s", name, digest(data))
		}
		l[header.Name] = data
	}
}

// follow reads the document that a descriptor points at.
func follow(t *testing.T, l layout, d descriptor, to any) {
	t.Helper()
	data := l["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
	if int64(len(data)) != d.Size {
		t.Fatalf("%s has %d bytes, not %d", d.Digest, len(data), d.Size)
	}
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatal(err)
	}
}

// unpack writes the layers of an image to a folder, as an engine does, and returns how it runs.
func unpack(t *testing.T, l layout, root string) runConfig {
	t.Helper()
	var index, image manifest
	var config configuration
	if err := json.Unmarshal(l["index.json"], &index); err != nil || len(index.Manifests) != 1 || index.Manifests[0].Annotations["io.containerd.image.name"] != "docker.io/library/recoup:1.2.3" {
		t.Fatalf("the index is %s: %v", l["index.json"], err)
	}
	follow(t, l, index.Manifests[0], &image)
	follow(t, l, *image.Config, &config)
	if config.OS != "linux" || config.Architecture != "amd64" || len(config.RootFS.DiffIDs) != len(image.Layers) {
		t.Errorf("the configuration is %+v", config)
	}
	for i, d := range image.Layers {
		zipped, err := gzip.NewReader(bytes.NewReader(l["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]))
		if err != nil {
			t.Fatal(err)
		}
		files, err := io.ReadAll(zipped)
		if err != nil || "sha256:"+digest(files) != config.RootFS.DiffIDs[i] {
			t.Errorf("layer %d is not that of its diff_id: %v", i, err)
		}
		unpackLayer(t, files, root)
	}
	return config.Config
}

func unpackLayer(t *testing.T, files []byte, root string) {
	t.Helper()
	for from := tar.NewReader(bytes.NewReader(files)); ; {
		header, err := from.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(root, header.Name)
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(name, 0o700)
		} else {
			var data []byte
			if data, err = io.ReadAll(from); err == nil {
				err = os.WriteFile(name, data, 0o600)
			}
		}
		if err = errors.Join(err, os.Lchown(name, header.Uid, header.Gid), os.Chmod(name, header.FileInfo().Mode().Perm())); err != nil {
			t.Fatal(err)
		}
	}
}

// The image starts in a root of its own as its user, without capabilities, becomes ready by its own
// health check, and has authorities for https, also private ones. Only /data can be written.
func TestImage(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("chroot and the owners of files need root")
	}
	t.Parallel()
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	config := unpack(t, built(t), root)
	for parent := filepath.Dir(root); parent != "/" && parent != os.TempDir(); parent = filepath.Dir(parent) {
		if err := os.Chmod(parent, 0o755); err != nil { // the user of the image must get there
			t.Fatal(err)
		}
	}
	if config.User != "65532:65532" || !slices.Equal(config.Entrypoint, []string{"/recoup"}) || !slices.Equal(config.Cmd, []string{"serve"}) {
		t.Fatalf("it runs as %+v", config)
	}
	certificates, err := os.ReadFile(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"))
	if err != nil || !x509.NewCertPool().AppendCertsFromPEM(certificates) {
		t.Errorf("there are no authorities: %v", err)
	}
	if names, err := os.ReadFile(filepath.Join(root, "etc/passwd")); err != nil || !strings.Contains(string(names), "recoup:x:65532:65532:") {
		t.Errorf("the user has no name: %v", err)
	}
	inside := func(env []string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Path, cmd.Err, cmd.Dir = args[0], nil, "/"
		cmd.Env = append(slices.Clone(config.Env), env...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		return cmd
	}
	address := freeAddress(t)
	accepted := make(chan string, 1)
	hook := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { accepted <- r.URL.Path }))
	t.Cleanup(hook.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})
	if err := errors.Join(os.Mkdir(filepath.Join(root, "authorities"), 0o755), os.WriteFile(filepath.Join(root, "authorities/private.pem"), authority, 0o644)); err != nil {
		t.Fatal(err)
	}
	listen := []string{
		"RECOUP_LISTEN=" + address, "SSL_CERT_DIR=/authorities", "RECOUP_CHANNELS=hook", "RECOUP_CHANNEL_HOOK_KIND=webhook",
		"RECOUP_CHANNEL_HOOK_URL=" + hook.URL + "/x", "RECOUP_CHANNEL_HOOK_SECRET=a-secret-of-16-characters", "RECOUP_CHANNEL_HOOK_PUBLIC_ONLY=false",
	}
	var log bytes.Buffer
	node := inside(listen, append(config.Entrypoint, config.Cmd...)...)
	node.Stdout, node.Stderr = &log, &log
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	awaitHealthy(t, func() error { return inside(listen, config.Healthcheck.Test[1:]...).Run() })
	answer, err := http.Get("http://" + address + "/healthz")
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("/healthz: %v %v", answer, err)
	}
	if err == nil {
		_ = answer.Body.Close()
	}
	key, err := os.ReadFile(filepath.Join(root, "data/admin-key"))
	if err != nil {
		t.Fatal(err)
	}
	server := []string{"RECOUP_SERVER=http://" + address, "RECOUP_KEY=" + strings.TrimSpace(string(key))}
	if out, err := inside(server, "/recoup", "channels", "test", "hook").CombinedOutput(); err != nil || len(accepted) != 1 {
		t.Errorf("a webhook with a certificate of a private authority: %v %s\n%s", err, out, &log)
	}
	if err := errors.Join(node.Process.Signal(syscall.SIGTERM), node.Wait()); err != nil {
		t.Errorf("it ends with %v:\n%s", err, &log)
	}
	for _, name := range []string{"data/recoup.db", "data/admin-key"} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v\n%s", name, info, err, &log)
		}
	}
	if out, err := inside(nil, "/recoup", "backup", "/elsewhere.db").CombinedOutput(); err == nil {
		t.Errorf("it can write beside /data: %s", out)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // it was only to find the port
	return listener.Addr().String()
}

func awaitHealthy(t *testing.T, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return
		}
		if retry.Sleep(ctx, 100*time.Millisecond) != nil {
			t.Fatalf("it does not become healthy: %v", err)
		}
	}
}

// A Dockerfile with what is not understood is refused, so that the image never lacks a part of it.
func TestUnknownInstructions(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"FROM debian", "RUN true", "COPY --chown=recoup:recoup a /b", "COPY a", "ENTRYPOINT /recoup", "HEALTHCHECK --interval=x CMD []"} {
		if _, err := parse(text, "amd64"); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
