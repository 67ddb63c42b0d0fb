package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// epoch is the time of every file, so that the image depends on its content alone.
var epoch = time.Unix(0, 0).UTC()

// layer returns the files of one COPY as a tar archive.
func (c copied) layer(context string) ([]byte, error) {
	var buffer bytes.Buffer
	to := tar.NewWriter(&buffer)
	for _, from := range c.from {
		source := filepath.Join(context, from)
		info, err := os.Stat(source)
		if err != nil {
			return nil, err
		}
		target := c.to
		if !info.IsDir() && strings.HasSuffix(target, "/") {
			target = path.Join(target, path.Base(from))
		}
		if err := c.add(to, source, strings.TrimPrefix(target, "/")); err != nil {
			return nil, err
		}
	}
	if err := to.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// add adds a file, or a folder with all that is in it.
func (c copied) add(to *tar.Writer, source, target string) error {
	return filepath.WalkDir(source, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(source, name)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		header := &tar.Header{Name: path.Join(target, filepath.ToSlash(inside)), ModTime: epoch, Uid: c.user, Gid: c.user, Format: tar.FormatUSTAR}
		switch {
		case info.IsDir():
			header.Typeflag, header.Name, header.Mode = tar.TypeDir, header.Name+"/", 0o755
			return to.WriteHeader(header)
		case !info.Mode().IsRegular():
			return errors.New(name + " is neither a file nor a folder")
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		header.Typeflag, header.Size, header.Mode = tar.TypeReg, int64(len(content)), int64(info.Mode().Perm())
		if c.mode != 0 {
			header.Mode = int64(c.mode)
		}
		if err := to.WriteHeader(header); err != nil {
			return err
		}
		_, err = to.Write(content)
		return err
	})
}
