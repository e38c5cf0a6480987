//go:build unix

package child

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// tool names, in the environment, the part that the test binary plays.
const tool = "CHILD_TEST_TOOL"

// TestMain lets the test binary stand in for a command.
func TestMain(m *testing.M) {
	if part := os.Getenv(tool); part != "" {
		play(part)
		return
	}
	goleak.VerifyTestMain(m)
}

// play is a command whose message says, in its first word, what it does.
func play(part string) {
	switch part {
	case "agent":
		agent()
		return
	case "script":
		scripted()
		return
	}
	if part == "arguments" {
		in, _ := io.ReadAll(os.Stdin)
		fmt.Printf("%q %q", os.Args[1:], in)
		return
	}
	in, _ := io.ReadAll(os.Stdin)
	word, rest, _ := strings.Cut(string(in), " ")
	switch word {
	case "upper":
		fmt.Print(strings.ToUpper(rest))
	case "environment":
		fmt.Print(strings.Join(os.Environ(), "\n"))
	case "exit":
		fmt.Print("half")
		fmt.Fprintln(os.Stderr, "the secret of the house")
		os.Exit(3)
	case "die":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "slowly": // bytes one by one, so that reads cut characters
		for _, b := range []byte(rest) {
			_, _ = os.Stdout.Write([]byte{b})
			time.Sleep(time.Millisecond)
		}
	case "bytes":
		_, _ = os.Stdout.Write([]byte("a\xffb\xe2\x82"))
	case "flood":
		line := []byte(strings.Repeat("x", 1<<16))
		for {
			if _, err := os.Stdout.Write(line); err != nil {
				return
			}
		}
	case "noise":
		for i := range 10_000 {
			fmt.Fprintf(os.Stderr, "noise %d\n", i)
		}
		fmt.Fprint(os.Stderr, strings.Repeat("y", 8<<20))
		fmt.Print("done")
	case "closes":
		_ = os.Stdout.Close()
		time.Sleep(time.Hour)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Print(os.Getpid())
		time.Sleep(time.Hour)
	case "hang":
		fmt.Print(os.Getpid())
		time.Sleep(time.Hour)
	}
}
