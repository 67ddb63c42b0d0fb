package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"slices"
)

const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor points at a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        *descriptor  `json:"config,omitempty"`
	Layers        []descriptor `json:"layers,omitempty"`
	Manifests     []descriptor `json:"manifests,omitempty"`
}

type configuration struct {
	platform
	Created string    `json:"created"`
	Config  runConfig `json:"config"`
	RootFS  struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// layout is an OCI image layout: files by their path.
type layout map[string][]byte

func newLayout() layout {
	return layout{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`)}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (l layout) blob(media string, data []byte) descriptor {
	name := digest(data)
	l["blobs/sha256/"+name] = data
	return descriptor{MediaType: media, Digest: "sha256:" + name, Size: int64(len(data))}
}

func (l layout) document(media string, v any) (descriptor, error) {
	data, err := json.Marshal(v)
	return l.blob(media, data), err
}

// addImage adds an image of the files of a folder, and returns its manifest.
func (l layout) addImage(r *recipe, context string) (descriptor, error) {
	own := platform{Architecture: r.arch, OS: "linux"}
	config := configuration{platform: own, Created: epoch.Format("2006-01-02T15:04:05Z"), Config: r.config}
	config.RootFS.Type = "layers"
	image := manifest{SchemaVersion: 2, MediaType: manifestType}
	for _, c := range r.copies {
		files, err := c.layer(context)
		if err != nil {
			return descriptor{}, err
		}
		packed, err := compressed(files)
		if err != nil {
			return descriptor{}, err
		}
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, "sha256:"+digest(files))
		image.Layers = append(image.Layers, l.blob(layerType, packed))
	}
	about, err := l.document(configType, config)
	if err != nil {
		return descriptor{}, err
	}
	image.Config = &about
	made, err := l.document(manifestType, image)
	made.Platform = &own
	return made, err
}

func compressed(data []byte) ([]byte, error) {
	var buffer bytes.Buffer
	to := gzip.NewWriter(&buffer)
	if _, err := to.Write(data); err != nil {
		return nil, err
	}
	err := to.Close()
	return buffer.Bytes(), err
}

// addIndex adds the list of platforms under a name that engines load it by.
func (l layout) addIndex(platforms []descriptor, name, tag string) error {
	all, err := l.document(indexType, manifest{SchemaVersion: 2, MediaType: indexType, Manifests: platforms})
	if err != nil {
		return err
	}
	if len(platforms) == 1 {
		delete(l, "blobs/sha256/"+all.Digest[len("sha256:"):])
		all = platforms[0]
	}
	all.Annotations = map[string]string{
		"org.opencontainers.image.ref.name": tag,
		"io.containerd.image.name":          "docker.io/library/" + name + ":" + tag,
	}
	index, err := json.Marshal(manifest{SchemaVersion: 2, MediaType: indexType, Manifests: []descriptor{all}})
	l["index.json"] = index
	return err
}

// write writes the layout as one archive.
func (l layout) write(out io.Writer) error {
	to := tar.NewWriter(out)
	for _, name := range slices.Sorted(maps.Keys(l)) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(l[name])), Mode: 0o644, ModTime: epoch, Format: tar.FormatUSTAR}
		if err := to.WriteHeader(header); err != nil {
			return err
		}
		if _, err := to.Write(l[name]); err != nil {
			return err
		}
	}
	return to.Close()
}
