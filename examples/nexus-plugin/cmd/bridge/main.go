// Bridge is a Nexus engine as the agent of a server in another process: the server starts
// one for each conversation (agent.driver child, protocol json, sessions per_context).
// docs/nexus.md says how.
package main

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	nexusplugin "a2aserve/examples/nexus-plugin"
	"a2aserve/impl/nexus/stdio"

	"github.com/frankbardon/nexus/pkg/engine"
	"github.com/frankbardon/nexus/pkg/engine/allplugins"
)

func main() {
	// Standard output is the protocol's: what a plugin prints goes to the log.
	out := os.Stdout
	os.Stdout = os.Stderr
	config := flag.String("config", "nexus.yaml", "the engine's configuration `file`")
	sessions := flag.String("sessions", "", "`folder` that remembers which session belongs to which conversation; default: core.sessions.root with .a2aserve behind it")
	flag.Parse()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(out, *config, *sessions, log); err != nil {
		log.Error("the bridge ends", "error", err)
		os.Exit(1)
	}
}

func run(out io.Writer, config, sessions string, log *slog.Logger) error {
	// A mistake is told even where nobody has said anything yet.
	eng, err := engine.New(config)
	if err != nil {
		return err
	}
	if sessions == "" {
		sessions = filepath.Clean(engine.ExpandPath(eng.Config.Core.Sessions.Root)) + ".a2aserve"
	}
	signal.Ignore(syscall.SIGPIPE) // a server that has gone closes our input too
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return stdio.Run(ctx, input(), out, stdio.Options{
		Boot:     nexusplugin.Bridge{Config: config, Register: allplugins.RegisterAll}.Boot,
		Sessions: sessions, Logger: log,
	})
}

// input is standard input, for a reader that can be told to stop. Plugins find it empty.
func input() io.ReadCloser {
	in, feed := io.Pipe()
	from := os.Stdin
	if none, err := os.Open(os.DevNull); err == nil {
		os.Stdin = none
	}
	go func() { // ends with the process
		_, err := io.Copy(feed, from)
		_ = feed.CloseWithError(err)
	}()
	return in
}
