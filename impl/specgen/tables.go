package specgen

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
)

// tables are the hand-written files under spec/: what the descriptor does not say.
type tables struct {
	Descriptions descriptions
	Constraints  constraints
	Errors       []errorRow
	Capabilities []capabilityRow
	Operations   []operationRow
	States       []stateRow
	Transitions  []transitionRow
}

// descriptions are our own sentences, by the names of the wire.
type descriptions struct {
	Common     map[string]string      // fields that mean the same wherever they occur
	Messages   map[string]described   // with their fields
	Enums      map[string]described   // with their values
	Operations map[string]description // of OpenAPI
}

type described struct {
	About  string
	Fields map[string]string
	Values map[string]string
}

type description struct {
	Summary, About string
}

// constraints are bounds and rules that only the prose has.
type constraints struct {
	Fields map[string]fieldRule // "Message.field_name" in proto spelling
	Oneofs map[string]oneofRule // "Message.oneof_name"
}

type fieldRule struct {
	Minimum    *int64
	Maximum    *int64
	Pattern    string
	MayBeEmpty bool `yaml:"may_be_empty"` // required, yet an empty array or string is valid
	Section    string
	Why        string
}

type oneofRule struct {
	Rule    string // exactly_one
	Section string
	Why     string
}

type errorRow struct {
	Name    string
	Code    int
	HTTP    int `yaml:"http"`
	Status  string
	Reason  string
	Domain  string
	Message string
	Refusal bool
	On      string // "all": any operation; "body": operations with a body; empty: those that list it
	Section string
	Why     string
}

type capabilityRow struct {
	Capability string // a field of AgentCapabilities
	Operations []string
	Error      string // what they answer without it
	Section    string
}

type operationRow struct {
	Name     string
	Section  string
	AltVerbs []altVerb `yaml:"alt_verbs"`
	Errors   []string  // besides those of every operation
}

type altVerb struct {
	Verb, Section, Why string
}

type stateRow struct {
	Name    string
	Class   string // active, interrupted or terminal
	Section string
	Why     string
}

type transitionRow struct {
	From    []string // "new" is before the task exists
	To      string
	Section string
	Why     string
}

// loadTables reads the tables. A key that no table has is an error.
func loadTables(root string) (*tables, error) {
	var t tables
	read := func(name string, into any) error {
		b, err := os.ReadFile(filepath.Join(root, "spec", name))
		if err != nil {
			return err
		}
		if err := yaml.UnmarshalWithOptions(b, into, yaml.Strict()); err != nil {
			return fmt.Errorf("spec/%s: %s", name, yaml.FormatError(err, false, true))
		}
		return nil
	}
	var errorFile struct{ Errors []errorRow }
	var capabilityFile struct{ Capabilities []capabilityRow }
	var operationFile struct{ Operations []operationRow }
	var stateFile struct {
		States      []stateRow
		Transitions []transitionRow
	}
	err := errors.Join(
		read("descriptions.yaml", &t.Descriptions), read("constraints.yaml", &t.Constraints),
		read("errors.yaml", &errorFile), read("capabilities.yaml", &capabilityFile),
		read("operations.yaml", &operationFile), read("states.yaml", &stateFile),
	)
	t.Errors, t.Capabilities, t.Operations = errorFile.Errors, capabilityFile.Capabilities, operationFile.Operations
	t.States, t.Transitions = stateFile.States, stateFile.Transitions
	return &t, err
}

func (t *tables) errorNamed(name string) *errorRow {
	for i := range t.Errors {
		if t.Errors[i].Name == name {
			return &t.Errors[i]
		}
	}
	return nil
}

func (t *tables) operation(name string) *operationRow {
	for i := range t.Operations {
		if t.Operations[i].Name == name {
			return &t.Operations[i]
		}
	}
	return nil
}

// capabilityOf returns the row that an operation depends on, or nil.
func (t *tables) capabilityOf(operation string) *capabilityRow {
	for i := range t.Capabilities {
		for _, o := range t.Capabilities[i].Operations {
			if o == operation {
				return &t.Capabilities[i]
			}
		}
	}
	return nil
}

// problems collects what is wrong, so that one run names all of it.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return errors.New(strings.Join(p, "\n"))
}
