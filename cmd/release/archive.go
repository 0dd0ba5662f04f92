package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"
)

// entry is a file in an archive.
type entry struct {
	name string
	mode int64
	body []byte
}

// pack writes a tar file whose bytes depend on nothing but the entries and the date.
func pack(entries []entry, date time.Time) ([]byte, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	made := map[string]bool{".": true}
	for _, e := range entries {
		if err := makeFolders(w, path.Dir(e.name), date, made); err != nil {
			return nil, err
		}
		header := &tar.Header{
			Typeflag: tar.TypeReg,
			Name:     e.name,
			Mode:     e.mode,
			Size:     int64(len(e.body)),
			ModTime:  date,
			Format:   tar.FormatUSTAR,
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.body); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// makeFolders adds the folders that a file is in, each once.
func makeFolders(w *tar.Writer, folder string, date time.Time, made map[string]bool) error {
	if made[folder] {
		return nil
	}
	if err := makeFolders(w, path.Dir(folder), date, made); err != nil {
		return err
	}
	made[folder] = true
	return w.WriteHeader(&tar.Header{
		Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755, ModTime: date, Format: tar.FormatUSTAR,
	})
}

// compress writes no name and no time into the gzip header.
func compress(body []byte) ([]byte, error) {
	var buffer bytes.Buffer
	w, err := gzip.NewWriterLevel(&buffer, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// writeArchives writes one archive a platform: the programs, what to read first,
// and the systemd unit.
func (r *release) writeArchives(dir, source string, binaries []binary) error {
	texts := map[string]string{
		"README.md": "README.md", "CHANGELOG.md": "docs/CHANGELOG.md", "SECURITY.md": "docs/SECURITY.md",
		"quotegate.service": "docs/operate/quotegate.service",
	}
	for _, platform := range r.platforms {
		goos, goarch := path.Split(platform)
		name := fmt.Sprintf("quotegate_%s_%s_%s", r.version, path.Clean(goos), goarch)
		var entries []entry
		for _, b := range binaries {
			if b.os+"/"+b.arch != platform {
				continue
			}
			body, err := os.ReadFile(b.path)
			if err != nil {
				return err
			}
			entries = append(entries, entry{name + "/" + b.program, 0o755, body})
		}
		for _, as := range sortedKeys(texts) {
			body, err := os.ReadFile(filepath.Join(source, texts[as]))
			if err != nil {
				return err
			}
			entries = append(entries, entry{name + "/" + as, 0o644, body})
		}
		packed, err := pack(entries, r.date)
		if err != nil {
			return err
		}
		zipped, err := compress(packed)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name+".tar.gz"), zipped, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeChecksums lists the files of a folder as sha256sum does, which checks them
// with `sha256sum -c SHA256SUMS`.
func writeChecksums(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var list bytes.Buffer
	for _, file := range files {
		body, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		fmt.Fprintf(&list, "%s  %s\n", hex.EncodeToString(sum[:]), file.Name())
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), list.Bytes(), 0o644)
}
