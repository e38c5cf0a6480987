// Command bench holds this server against an agent on the official Go SDK, on the same
// machine, in one run, with the same client: ours keeps every transition on disk
// (synchronous=FULL), the peer keeps its tasks in memory.
//
// Both are processes of their own and are driven by turns, several rounds of each, so that
// what else the machine does meets both alike. Medians are printed, with their ratio.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"
)

type options struct {
	rounds int
	span   time.Duration // of one round of one measure
	tasks  int           // in the largest store
	stores string
	only   *regexp.Regexp
	json   string
	page   string
}

func main() {
	var o options
	only := ""
	flag.IntVar(&o.rounds, "rounds", 5, "rounds of each measure")
	flag.DurationVar(&o.span, "span", 3*time.Second, "length of one round of one measure on one server")
	flag.IntVar(&o.tasks, "tasks", 1_000_000, "tasks in the largest store")
	flag.StringVar(&o.stores, "stores", "", "folder that keeps the filled stores for the next run; the largest takes minutes to fill")
	flag.StringVar(&only, "only", ".", "measures to take, a regular expression")
	flag.StringVar(&o.json, "json", "", "file that gets the results as JSON")
	flag.StringVar(&o.page, "page", "", "file that gets the results as a page of Markdown, with a picture beside it")
	flag.Parse()
	o.only = regexp.MustCompile(only)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "a2aserve-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{ctx: ctx, o: o, dir: dir}
	if err := b.build(); err != nil {
		return err
	}
	for _, part := range []func() error{b.turns, b.reads, b.lists, b.fanOut, b.subscribers, b.shares, b.ceilings} {
		if err := part(); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	r := b.report()
	if err := r.text(os.Stdout); err != nil {
		return err
	}
	if o.json != "" {
		if err := r.writeJSON(o.json); err != nil {
			return err
		}
	}
	if o.page != "" {
		return r.writePage(o.page)
	}
	return nil
}
