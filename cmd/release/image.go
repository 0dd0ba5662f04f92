package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// The image is an OCI layout, which podman and buildah load from a file, as
// localhost/quotegate:VERSION. It is put together here, so that no registry, no base
// image and no other program has a part in it. It holds the gateway and the
// certificates of public authorities: no shell, and no user but an unprivileged one.

// nobody is the user that the gateway runs as in the image.
const nobody = "65532:65532"

const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	indexType    = "application/vnd.oci.image.index.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor points to a blob of an OCI layout.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

type imageConfig struct {
	Created      string        `json:"created"`
	Architecture string        `json:"architecture"`
	OS           string        `json:"os"`
	Config       containerSpec `json:"config"`
	RootFS       rootFS        `json:"rootfs"`
}

type containerSpec struct {
	User         string              `json:"User"`
	ExposedPorts map[string]struct{} `json:"ExposedPorts"`
	Entrypoint   []string            `json:"Entrypoint"`
	WorkingDir   string              `json:"WorkingDir"`
	Healthcheck  healthcheck         `json:"Healthcheck"`
	Labels       map[string]string   `json:"Labels"`
}

// healthcheck is Docker's addition to the configuration of an OCI image. Programs that
// do not know it leave it out, as podman does.
type healthcheck struct {
	Test []string `json:"Test"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

// writeImage writes one image for all Linux platforms.
func (r *release) writeImage(dir string, binaries []binary) error {
	layout := ociLayout{}
	var images []descriptor
	for _, b := range binaries {
		if b.os != "linux" || b.program != "gateway" {
			continue
		}
		image, err := r.addImage(&layout, b)
		if err != nil {
			return err
		}
		images = append(images, image)
	}
	if len(images) == 0 {
		return nil // an image is for Linux
	}
	all, err := layout.addJSON(indexType, index{2, indexType, images})
	if err != nil {
		return err
	}
	all.Annotations = map[string]string{
		"org.opencontainers.image.ref.name": r.version,                          // in oci-archive:FILE:VERSION
		"io.containerd.image.name":          "localhost/quotegate:" + r.version, // what it is loaded as
	}
	root, err := json.Marshal(index{2, indexType, []descriptor{all}})
	if err != nil {
		return err
	}
	layout.files = append([]entry{
		{"oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", 0o644, root},
	}, layout.files...)
	packed, err := pack(layout.files, r.date)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "quotegate_"+r.version+"_image.tar"), packed, 0o644)
}

// addImage adds the image of one platform.
func (r *release) addImage(layout *ociLayout, b binary) (descriptor, error) {
	program, err := os.ReadFile(b.path)
	if err != nil {
		return descriptor{}, err
	}
	files, err := pack([]entry{
		{"etc/ssl/certs/ca-certificates.crt", 0o644, certificates()},
		{"gateway", 0o755, program},
	}, r.date)
	if err != nil {
		return descriptor{}, err
	}
	zipped, err := compress(files)
	if err != nil {
		return descriptor{}, err
	}
	labels := map[string]string{
		"org.opencontainers.image.title":    "quotegate",
		"org.opencontainers.image.version":  r.version,
		"org.opencontainers.image.revision": r.commit,
	}
	config, err := layout.addJSON(configType, imageConfig{
		Created:      r.date.Format("2006-01-02T15:04:05Z"),
		Architecture: b.arch,
		OS:           b.os,
		Config: containerSpec{
			User:         nobody,
			ExposedPorts: map[string]struct{}{"8080/tcp": {}},
			Entrypoint:   []string{"/gateway"},
			WorkingDir:   "/",
			Healthcheck:  healthcheck{[]string{"CMD", "/gateway", "health"}},
			Labels:       labels,
		},
		RootFS: rootFS{"layers", []string{digest(files)}},
	})
	if err != nil {
		return descriptor{}, err
	}
	layer := layout.add(layerType, zipped)
	image, err := layout.addJSON(manifestType, manifest{2, manifestType, config, []descriptor{layer}, labels})
	if err != nil {
		return descriptor{}, err
	}
	image.Platform = &platform{b.arch, b.os}
	return image, nil
}

// ociLayout collects the blobs of an image, each under its digest.
type ociLayout struct{ files []entry }

func (l *ociLayout) add(mediaType string, body []byte) descriptor {
	d := descriptor{MediaType: mediaType, Digest: digest(body), Size: len(body)}
	l.files = append(l.files, entry{"blobs/sha256/" + d.Digest[len("sha256:"):], 0o644, body})
	return d
}

func (l *ociLayout) addJSON(mediaType string, value any) (descriptor, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return descriptor{}, fmt.Errorf("%s: %w", mediaType, err)
	}
	return l.add(mediaType, body), nil
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// certificates are Mozilla's, of the module's pinned version. Those that Mozilla
// trusts only up to a date are left out, since a file of certificates cannot say so.
func certificates() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes everything
		}
	}
	return text.Bytes()
}
