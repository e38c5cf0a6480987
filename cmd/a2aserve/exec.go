package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"a2aserve/impl/config"
)

// execOverrides make the built-in configuration that of a command, which the card names.
// Arguments are left out of the card: they may hold what is not for everybody.
func execOverrides(command string) ([]config.Override, error) {
	words, err := split(command)
	if err != nil {
		return nil, usageError{fmt.Errorf("--exec: %w", err)}
	}
	name := filepath.Base(words[0])
	if strings.Trim(name, "/. ") == "" {
		return nil, usageError{fmt.Errorf("--exec: %q is no program", words[0])}
	}
	args := make([]any, len(words)-1)
	for i, w := range words[1:] {
		args[i] = w
	}
	set := func(key string, value any) config.Override {
		return config.Override{Key: key, Value: value, From: "--exec"}
	}
	return []config.Override{
		set("agent.driver", "child"),
		set("agent.child", map[string]any{
			"command": words[0], "args": args, "protocol": "text",
			"env_pass": []any{"HOME", "LANG", "TMPDIR"},
		}),
		set("card", map[string]any{
			"name": name, "description": "The command " + name + ": it reads the message and writes the answer.", "version": "1.0.0",
			"skills": []any{map[string]any{
				"id": "run", "name": "Run " + name, "description": "Gives the text of the message to " + name + " and answers with what it writes.",
				"tags": []any{"command"},
			}},
		}),
	}, nil
}

// split divides a command into words as a shell does: at blanks, but not within quotes.
// In single quotes everything stands for itself; elsewhere a backslash keeps the next
// character from being special, in double quotes only before one of \"$` and itself.
func split(command string) (words []string, err error) {
	var word strings.Builder
	begun, quote, escaped := false, rune(0), false
	for _, c := range command {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune("\"\\$`", c) {
				word.WriteByte('\\')
			}
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			begun, escaped = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			begun, quote = true, c
		case c == ' ' || c == '\t' || c == '\n':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			begun = true
			word.WriteRune(c)
		}
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("a quote %c is not closed", quote)
	case escaped:
		return nil, errors.New("a backslash stands at the end")
	case begun:
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("there is no program to run")
	}
	return words, nil
}
