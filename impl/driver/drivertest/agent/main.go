// Command agent is an agent in a process of its own, for the drivers' suite: `agent beside
// FOLDER` and `agent nested FOLDER` are package plain's on JSON lines, `agent text` a command
// line tool that has as many of its commands as standard input and output can carry.
package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"a2aserve/impl/driver/drivertest/plain"
)

func main() {
	switch {
	case len(os.Args) == 3 && (os.Args[1] == "beside" || os.Args[1] == "nested"):
		o := plain.Options{Files: os.Args[2], Nested: os.Args[1] == "nested", Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
		exit(plain.Stdio(os.Stdin, os.Stdout, o))
	case len(os.Args) == 2 && os.Args[1] == "text":
		message, err := io.ReadAll(os.Stdin)
		if err == nil {
			err = answer(string(message))
		}
		exit(err)
	default:
		exit(fmt.Errorf("usage: agent beside|nested FOLDER, or agent text"))
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// answer does what the first word of the message says.
func answer(message string) error {
	word, rest, _ := strings.Cut(message, " ")
	first, after, _ := strings.Cut(rest, " ")
	switch word {
	case "json":
		return say(rest)
	case "silent":
		time.Sleep(time.Hour)
	case "slow":
		wait(first)
		return say(after)
	case "ignore-cancel":
		signal.Ignore(syscall.SIGTERM)
		wait(first)
		return say(after)
	case "chunks":
		pause, tail, _ := strings.Cut(after, " ")
		return repeat(first, func(i int) error {
			wait(pause)
			return say(fmt.Sprint(i+1, tail))
		})
	case "flood":
		return repeat(first, func(int) error { return say(strings.Repeat("text ok.", 128)) })
	case "fail":
		return fmt.Errorf("failed %s", rest)
	case "panic-after":
		wait(first)
		panic("as told")
	case "crash":
		if rest == "chunks" {
			_ = say("1.2.")
		}
		me, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		if err := me.Kill(); err != nil {
			return err
		}
		time.Sleep(time.Hour)
	case "garbage":
		return say("\xff\xfe\x00 sane \xc3\x28\x1b[31m\xe2\x82")
	case "rogue": // what it leaves behind means to go on talking
		c := exec.Command("sh", "-c", "sleep 1; echo more")
		c.Stdout = os.Stdout
		if err := c.Start(); err != nil {
			return err
		}
		return say("the answer")
	}
	return say(strings.TrimPrefix(message, "echo "))
}

func say(text string) error {
	_, err := os.Stdout.WriteString(text)
	return err
}

// wait waits so many milliseconds.
func wait(ms string) {
	n, _ := strconv.Atoi(ms)
	time.Sleep(time.Duration(n) * time.Millisecond)
}

func repeat(times string, do func(int) error) error {
	n, _ := strconv.Atoi(times)
	for i := range n {
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}
