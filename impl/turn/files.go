package turn

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"a2aserve/gen/a2a"
	"a2aserve/gen/event"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// reportedFiles publishes the files that a tool result names: its output file, and the
// members of its structured output that are known to hold paths.
func (b *batch) reportedFiles(e event.ToolResult) {
	var paths []string
	if e.OutputFile != "" {
		paths = append(paths, e.OutputFile)
	}
	if keys := b.r.e.Artifacts.FileSources[e.Name]; len(keys) > 0 && e.Structured.Kind() == '{' {
		var members map[string]jsontext.Value
		if json.Unmarshal(e.Structured, &members) == nil {
			for _, k := range keys {
				var path string
				if json.Unmarshal(members[k], &path) == nil && path != "" && path != e.OutputFile {
					paths = append(paths, path)
				}
			}
		}
	}
	told := map[string]bool{}
	for _, path := range paths {
		b.reportedFile(path, told)
	}
}

// reportedFile publishes one file, or a note where it is too large or not accepted. A
// path that leads out of the base, or to anything but a file, is dropped: the tool that
// named it is broken or hostile. Told holds the files of this result so far, since one may
// be reported under two spellings.
func (b *batch) reportedFile(path string, told map[string]bool) {
	limits := &b.r.e.Artifacts
	if limits.FileBaseDir == "" {
		b.r.e.Logger.Warn("a reported file is not published: there is no artifacts.file_base_dir", "task", b.rec.ID, "path", path)
		return
	}
	name, data, size, err := readFile(limits.FileBaseDir, path, limits.MaxFileBytes)
	if err != nil {
		b.r.e.Logger.Warn("a reported file is not published", "task", b.rec.ID, "path", path, "error", err)
		return
	}
	if name = clean(name); told[name] {
		return
	}
	told[name] = true
	mediaType := fileType(name)
	part := a2a.Part{Raw: data, Filename: filepath.Base(name), MediaType: mediaType}
	meta := map[string]any{"nexus.file.path": name, "nexus.file.bytes": size}
	note := ""
	switch {
	case !acceptsBytes(b.r.modes, mediaType):
		note = "the request does not accept " + mediaType + " inline"
	case limits.MaxFileBytes <= 0:
		note = "files are not sent inline"
	case data == nil:
		note = fmt.Sprintf("files up to %d bytes are sent", limits.MaxFileBytes)
	}
	if note != "" {
		text := fmt.Sprintf("[file left out: %s, %d bytes; %s]", name, size, note)
		part = a2a.Part{Text: &text}
		meta["nexus.artifact.omitted"] = true
	}
	b.extra(&a2a.Artifact{
		ArtifactID: b.r.in.TaskID + "-file-" + filePiece(name),
		Name:       filepath.Base(name), Parts: []a2a.Part{part}, Metadata: object(meta),
	}, false, true)
}

// textFiles are types that the host's tables may not have; what a client sees should not
// depend on them.
var textFiles = map[string]string{
	".txt": "text/plain", ".log": "text/plain", ".md": "text/markdown", ".csv": "text/csv", ".yaml": "application/yaml", ".yml": "application/yaml",
}

// fileType is the media type that a file's name suggests.
func fileType(name string) string {
	ext := strings.ToLower(filepath.Ext(name))
	if t := textFiles[ext]; t != "" {
		return t
	}
	if t := bareType(mime.TypeByExtension(ext)); t != "" {
		return t
	}
	return bytesType
}

// readFile reads a file below base; of one with more than limit bytes only the size, and
// data is nil.
// The name that it returns is relative to base. Nothing it meets can block it.
func readFile(base, path string, limit int) (name string, data []byte, size int64, err error) {
	if filepath.IsAbs(path) {
		if path, err = relative(base, path); err != nil {
			return "", nil, 0, err
		}
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return "", nil, 0, err
	}
	defer root.Close()
	// O_NONBLOCK: opening a FIFO that nobody writes to must not wait.
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return "", nil, 0, errors.New("not a regular file")
	}
	name = filepath.ToSlash(filepath.Clean(path))
	if limit <= 0 || info.Size() > int64(limit) {
		return name, nil, info.Size(), nil
	}
	data, err = io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return "", nil, 0, err
	}
	if len(data) > limit { // it grew while it was read
		return name, nil, int64(len(data)), nil
	}
	return name, data, int64(len(data)), nil
}

// relative is an absolute path as seen from base, given as configured or as resolved.
func relative(base, path string) (string, error) {
	bases := []string{base}
	if abs, err := filepath.Abs(base); err == nil {
		bases = append(bases, abs)
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			bases = append(bases, real)
		}
	}
	for _, base := range bases {
		if rel, err := filepath.Rel(base, path); err == nil && filepath.IsLocal(rel) {
			return rel, nil
		}
	}
	return "", errors.New("outside artifacts.file_base_dir")
}

// filePiece makes a path a readable and unique part of an artifact's id.
func filePiece(name string) string {
	plain := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("._-", c):
			return c
		}
		return '-'
	}, name)
	if len(plain) > 96 {
		plain = plain[len(plain)-96:]
	}
	return plain + "-" + hashed(name)
}

// hashed is a short name for any text.
func hashed(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}
