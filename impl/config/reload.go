package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	gen "a2aserve/gen/config"

	"github.com/go-json-experiment/json"
)

// Renew returns next as a running server can take it over: what takes effect only at a
// start (all keys that the schema does not mark x-reload) stays as it is in c. kept names
// those of them that differ, sorted.
func (c *Config) Renew(next *Config) (merged *Config, kept []string, err error) {
	old, err := tree(c)
	if err != nil {
		return nil, nil, err
	}
	fresh, err := tree(next)
	if err != nil {
		return nil, nil, err
	}
	keep(old, fresh, rootSchema, "", &kept)
	b, err := json.Marshal(fresh)
	if err != nil {
		return nil, nil, fmt.Errorf("configuration: %w", err)
	}
	result := *next
	result.Config = gen.Config{}
	if err := json.Unmarshal(b, &result.Config); err != nil {
		return nil, nil, fmt.Errorf("configuration: %w", err)
	}
	slices.Sort(kept)
	return &result, kept, nil
}

// tree is a configuration as a document. Credentials are not in it.
func tree(c *Config) (m map[string]any, err error) {
	b, err := json.Marshal(c.Config)
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return m, nil
}

// keep puts the old values of fixed keys into fresh. A section without a mark of its own
// is decided key by key.
func keep(old, fresh map[string]any, s map[string]any, at string, kept *[]string) {
	for _, key := range properties(s) {
		property, target := property(s, key)
		name := at + key
		if property["x-reload"] == true || target["x-reload"] == true {
			continue
		}
		if len(properties(target)) > 0 {
			was, _ := old[key].(map[string]any)
			is, _ := fresh[key].(map[string]any)
			if is == nil { // a section of zeros is left out
				is = map[string]any{}
			}
			keep(was, is, target, name+".", kept)
			if fresh[key] = is; len(is) == 0 {
				delete(fresh, key)
			}
			continue
		}
		if !reflect.DeepEqual(old[key], fresh[key]) {
			*kept = append(*kept, name)
		}
		if v, set := old[key]; set {
			fresh[key] = v
		} else {
			delete(fresh, key)
		}
	}
}

// files are the paths that the document names, under keys that end in _file.
func (d *document) files() []string {
	found := map[string]bool{}
	collect(d.root, "", found)
	return slices.Sorted(maps.Keys(found))
}

func collect(v any, key string, found map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			collect(e, k, found)
		}
	case []any:
		for _, e := range v {
			collect(e, "", found)
		}
	case string:
		if strings.HasSuffix(key, "_file") && v != "" {
			found[ExpandHome(v)] = true
		}
	}
}
