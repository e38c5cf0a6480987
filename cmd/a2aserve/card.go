package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"a2aserve/impl/app"
	"a2aserve/impl/card"
	"a2aserve/impl/config"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
)

// cardFlags are the flags of card.
type cardFlags struct {
	config, check    string
	extended, asJSON bool
}

func cardCommand() *cobra.Command {
	var f cardFlags
	c := &cobra.Command{
		Use:   "card",
		Short: "Print the Agent Card as it would be served, or check one",
		Long: `Print the Agent Card as it would be served, byte for byte, or check one.

A card to be checked is a file, in JSON or YAML, or any server's address. Exit code 0
means that it follows the specification, 1 that it does not, and 2 that it could not be
read. Advice is given on what many clients would fail over; it does not count.`,
		Example: `  a2aserve card --config a2aserve.yaml
  a2aserve card --check https://agent.example.com
  a2aserve card --check card.json --json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case f.check == "":
				return printCard(c, f)
			case f.config != "" || f.extended:
				return usageError{errBoth}
			}
			return checkCard(c, f)
		},
	}
	c.Flags().StringVar(&f.config, "config", "", "`file` with the configuration, in YAML")
	c.Flags().BoolVar(&f.extended, "extended", false, "print the card that authenticated callers get")
	c.Flags().StringVar(&f.check, "check", "", "`file or URL` of a card to check")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print what a check finds as JSON")
	return c
}

var (
	errBoth           = errors.New("--check is about a card that is there already; leave out --config and --extended")
	errNoExtendedCard = errors.New("no extended card is configured (extended_card_file)")
)

// printCard keeps standard output to the card: whoever signs it pipes it on.
func printCard(c *cobra.Command, f cardFlags) error {
	cfg, err := loadConfig(f.config, nil)
	if err != nil {
		return err
	}
	out, extended, err := app.Cards(cfg, app.Options{Log: app.Logger(cfg, c.ErrOrStderr())})
	if err != nil {
		return err
	}
	if f.extended {
		if out = extended; out == nil {
			return usageError{errNoExtendedCard}
		}
	}
	for _, w := range out.Warnings() {
		fmt.Fprintln(c.ErrOrStderr(), w)
	}
	if cfg.PublicURL == "" && (config.Wildcard(cfg.Bind) || strings.HasSuffix(cfg.Bind, ":0")) {
		fmt.Fprintln(c.ErrOrStderr(), "the address is settled once the server runs; set public_url to have it here")
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", out.JSON())
	return err
}

// checkedCard is what a check found, for machines.
type checkedCard struct {
	Source   string         `json:"source"`
	Valid    bool           `json:"valid"`
	Findings []card.Finding `json:"findings"`
}

var errInvalidCard = errors.New("the card does not follow the specification")

func checkCard(c *cobra.Command, f cardFlags) error {
	doc, found, err := card.Load(c.Context(), f.check)
	if err != nil {
		return usageError{fmt.Errorf("cannot read the card: %w", err)}
	}
	found = append(card.Check(doc), found...)
	out := checkedCard{Source: f.check, Findings: found,
		Valid: !slices.ContainsFunc(found, func(x card.Finding) bool { return x.Level == card.Error })}
	if f.asJSON {
		err = json.MarshalWrite(c.OutOrStdout(), out)
		fmt.Fprintln(c.OutOrStdout())
	} else {
		err = out.print(c.OutOrStdout())
	}
	if err == nil && !out.Valid {
		err = errInvalidCard
	}
	return err
}

// print has one line for each finding, and one for the outcome.
func (o checkedCard) print(w io.Writer) error {
	for _, x := range o.Findings {
		where := x.Pointer
		if where == "" {
			where = "(the card)"
		}
		fmt.Fprintf(w, "%-7s %s: %s\n", x.Level, where, x.Text)
	}
	if !o.Valid {
		return nil // the error says so
	}
	_, err := fmt.Fprintf(w, "%s follows the specification\n", o.Source)
	return err
}
