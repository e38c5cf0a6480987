package viewgen

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestViewIsUpToDate(t *testing.T) {
	out := filepath.Join(t.TempDir(), "view.go")
	if err := WriteView("../../gen/db/internal/raw", "a2aserve/gen/db/internal/raw", out); err != nil {
		t.Fatal(err)
	}
	fresh, _ := os.ReadFile(out)
	kept, err := os.ReadFile("../../gen/db/view.gen.go")
	if err != nil || !bytes.Equal(fresh, kept) {
		t.Errorf("gen/db/view.gen.go is not what its sources make (%v): run make generate", err)
	}
}

const sqlcOutput = `package raw

import "context"

type OneParams struct {
	PrincipalID string
	TaskID      string
}

type OneRow struct{ ID string }

func (q *Queries) One(ctx context.Context, arg OneParams) ([]OneRow, error) { return nil, nil }

type CountParams struct {
	PrincipalID string
}

// Count counts.
func (q *Queries) Count(ctx context.Context, arg CountParams) (int64, error) { return 0, nil }

type MoveParams struct {
	PrincipalID string
	FromID      string
	N           int64
}

func (q *Queries) Move(ctx context.Context, arg MoveParams) error { return nil }
`

func writeView(t *testing.T, src string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "read.sql.go"), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "view.go")
	err := WriteView(dir, "example/raw", out)
	b, _ := os.ReadFile(out)
	return string(b), err
}

func TestViewMethodsTakeNoPrincipal(t *testing.T) {
	got, err := writeView(t, sqlcOutput)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"DO NOT EDIT",
		"func (v View) One(ctx context.Context, taskID string) ([]OneRow, error) {\n\treturn v.q.One(ctx, raw.OneParams{PrincipalID: v.principal, TaskID: taskID})",
		"type OneRow = raw.OneRow",
		"// Count counts.\nfunc (v View) Count(ctx context.Context) (int64, error) {",
		"type MoveParams struct {\n\tFromID string\n\tN      int64\n}",
		"raw.MoveParams{PrincipalID: v.principal, FromID: arg.FromID, N: arg.N}",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestViewRefusesWhatHasNoPrincipal(t *testing.T) {
	const method = "func (q *Queries) All(ctx context.Context) ([]string, error) { return nil, nil }\n"
	if _, err := writeView(t, sqlcOutput+method); err == nil || !strings.Contains(err.Error(), "All: names no principal") {
		t.Errorf("got %v", err)
	}
	got, err := writeView(t, sqlcOutput+"\n// unscoped: ids only\n"+method)
	if err != nil || !strings.Contains(got, "func (c *Conn) All(ctx context.Context) ([]string, error)") {
		t.Errorf("%v in\n%s", err, got)
	}
	if _, err := writeView(t, strings.Replace(sqlcOutput, "arg OneParams", "principalID string", 1)); err == nil {
		t.Error("a method without a parameters struct was accepted")
	}
	if err := WriteView(t.TempDir(), "example/raw", "unused"); err == nil {
		t.Error("an empty folder was accepted")
	}
}
