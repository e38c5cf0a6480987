package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"a2aserve/impl/store"
)

// db check says of a file whether it is whole, with the exit code too.
func TestDBCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	check := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := run(t.Context(), append([]string{"db", "check", "--db", path}, args...), &out, &errs)
		return code, out.String(), errs.String()
	}
	if code, _, errs := check(); code != exitFailure || !strings.Contains(errs, "no database") {
		t.Errorf("missing file: exit code %d, %q", code, errs)
	}
	s, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if code, _, errs := check(); code != exitFailure || !strings.Contains(errs, "pid") {
		t.Errorf("file in use: exit code %d, %q", code, errs)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := check(); code != 0 || !strings.Contains(out, "whole") || !strings.Contains(errs, "examining") {
		t.Errorf("whole file: exit code %d, %q, %q", code, out, errs)
	}
	if code, out, _ := check("--json"); code != 0 || !strings.Contains(out, `"whole":true`) {
		t.Errorf("whole file: exit code %d, %q", code, out)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := 2 * 4096; page < len(b); page += 4096 {
		b[page] ^= 0x5a // what kind of page it is
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := check("--json"); code != exitFailure || !strings.Contains(out, `"whole":false`) {
		t.Errorf("damaged file: exit code %d, %q", code, out)
	}
}
