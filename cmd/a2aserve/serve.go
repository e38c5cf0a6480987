package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"

	"a2aserve/impl/app"
	"a2aserve/impl/config"

	"github.com/spf13/cobra"
)

// serveFlags are the flags of serve. Each overrides the key that it is named after.
type serveFlags struct {
	config, bind, db string
	exec             string
	strict, jsonLogs bool
	check            bool
}

func serveCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve an agent until SIGTERM or SIGINT",
		Long: `Serve an agent until SIGTERM or SIGINT.

Without a configuration file it serves a scripted demo agent on 127.0.0.1:8091 and
keeps its tasks in ./a2aserve.db. Standard output says what is served where; logs go
to standard error.

With --exec it serves a command instead: each message starts it once, with the text on
its standard input, or in the place of {prompt} in an argument; what it writes to standard
output is the answer. The command is split into words as a shell would do it (quotes and
backslashes), but no shell runs: there are no pipes, variables or patterns. It gets HOME,
LANG, PATH and TMPDIR of the environment and nothing else.`,
		Example: `  a2aserve serve
  a2aserve serve --exec 'tr a-z A-Z'
  a2aserve serve --config a2aserve.yaml --bind 127.0.0.1:9000`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return serve(c, f) },
	}
	c.Flags().StringVar(&f.config, "config", "", "`file` with the configuration, in YAML")
	c.Flags().StringVar(&f.exec, "exec", "", "`command` to serve, without a configuration file")
	c.Flags().StringVar(&f.bind, "bind", "", "`host:port` to listen on; port 0 takes a free one")
	c.Flags().StringVar(&f.db, "db", "", "`path` of the database")
	c.Flags().BoolVar(&f.strict, "strict", false, "follow the specification to the letter where the default is lenient")
	c.Flags().BoolVar(&f.jsonLogs, "json-logs", false, "log JSON")
	c.Flags().BoolVar(&f.check, "check-config", false, "check the configuration, say what would be served, and end")
	return c
}

// overrides are the flags that were given. One that was not leaves the file alone, also
// where its zero value would mean something.
func (f serveFlags) overrides(c *cobra.Command) (out []config.Override, err error) {
	set := func(flag, key string, value any) {
		if c.Flags().Changed(flag) {
			out = append(out, config.Override{Key: key, Value: value, From: "--" + flag})
		}
	}
	set("bind", "bind", f.bind)
	set("db", "store.path", f.db)
	set("strict", "strict_version_header", f.strict)
	set("strict", "strict_terminal_subscribe", f.strict)
	if f.jsonLogs {
		set("json-logs", "log.format", "json")
	}
	if !c.Flags().Changed("exec") {
		return out, nil
	}
	if f.config != "" {
		return nil, usageError{errors.New("--exec stands for a configuration: give it or --config, not both")}
	}
	agent, err := execOverrides(f.exec)
	return append(out, agent...), err
}

// serve says what is served only once the address is taken and the store is open: a
// banner is a promise.
func serve(c *cobra.Command, f serveFlags) error {
	overrides, err := f.overrides(c)
	if err != nil {
		return err
	}
	cfg, err := loadConfig(f.config, overrides)
	if err != nil {
		return err
	}
	log := app.Logger(cfg, c.ErrOrStderr())
	if f.check {
		served, err := app.Check(cfg, app.Options{Log: log})
		if err != nil {
			return usageError{err} // whatever it is, the configuration names it
		}
		_, err = fmt.Fprint(c.OutOrStdout(), served)
		return err
	}
	log.Debug("configuration", "config", cfg)
	o := app.Options{Log: log}
	if f.config != "" {
		o.Reload = func() (*config.Config, error) { return loadConfig(f.config, overrides) }
	}
	// From here on a hangup never ends the process, as it would by default.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	a, err := app.New(c.Context(), cfg, o)
	if err != nil {
		return err
	}
	var reloader sync.WaitGroup
	defer reloader.Wait()
	ended := make(chan struct{})
	defer close(ended)
	reloader.Go(func() { reloadOn(hangups, ended, a) })
	fmt.Fprint(c.OutOrStdout(), a.Banner())
	room := slack()
	defer runtime.KeepAlive(room)
	return a.Run(c.Context())
}

// reloadOn reads the configuration again at each signal, until ended. The App logs what
// comes of it.
func reloadOn(signals <-chan os.Signal, ended <-chan struct{}, a *app.App) {
	for {
		select {
		case <-signals:
			_ = a.Reload()
		case <-ended:
			return
		}
	}
}
