//go:build unix

package main

import "testing"

// TestFolderThatIsGone: what needs no file runs in a folder that has been removed under it,
// as happens to a shell in a build folder.
func TestFolderThatIsGone(t *testing.T) {
	c := command(t, "version")
	c.Path, c.Args = "/bin/sh", []string{"sh", "-c", `mkdir gone && cd gone && rmdir ../gone && exec "$0" version`, c.Path}
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
