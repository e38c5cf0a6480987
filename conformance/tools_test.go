package conformance

import (
	"os"
	"os/exec"
	"testing"
)

// need finds a program that a test runs. Without it the test is skipped, or fails where
// A2ASERVE_NO_SKIP is set: CI has everything installed and must not pass by having less.
func need(t testing.TB, name string) string {
	t.Helper()
	for _, try := range []string{name, "/usr/sbin/" + name} { // where daemons are, off the usual path
		if path, err := exec.LookPath(try); err == nil {
			return path
		}
	}
	if os.Getenv("A2ASERVE_NO_SKIP") != "" {
		t.Fatalf("%s is not installed, and A2ASERVE_NO_SKIP is set", name)
	}
	t.Skipf("this test runs %s, which is not installed", name)
	return ""
}

// soaking says whether times and loads are those of real life: make soak takes minutes.
func soaking() bool { return os.Getenv("A2ASERVE_SOAK") != "" }
