package specgen

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
)

// Tools says how the pinned tools are run.
type Tools struct {
	// Dir is the module's root, where tools/go.mod lies.
	Dir string
	// Prefix is the command in front of a tool's name; nil means
	// go tool -modfile=tools/go.mod, which builds the pinned version and caches it.
	Prefix []string
}

// run gives in to a tool and returns what it wrote; what it complained about is in the error.
func (t Tools) run(ctx context.Context, in []byte, name string, args ...string) ([]byte, error) {
	prefix := t.Prefix
	if prefix == nil {
		prefix = []string{"go", "tool", "-modfile=tools/go.mod"}
	}
	argv := append(append(append([]string{}, prefix...), name), args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = t.Dir
	cmd.Stdin = bytes.NewReader(in)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(complaint.Bytes()))
	}
	return out.Bytes(), nil
}
