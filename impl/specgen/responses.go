package specgen

import (
	"slices"
	"strconv"
	"strings"
)

// errorResponses groups an operation's errors by HTTP status, which is all that OpenAPI
// can tell apart; x-errors has the names for programs.
func errorResponses(name string, r route, t *tables) object {
	own := slices.Clone(t.operation(name).Errors)
	if c := t.capabilityOf(name); c != nil {
		own = append(own, c.Error)
	}
	byStatus := map[int][]errorRow{}
	for _, e := range t.Errors {
		if e.On == "all" || e.On == "body" && r.Body || slices.Contains(own, e.Name) {
			byStatus[e.HTTP] = append(byStatus[e.HTTP], e)
		}
	}
	out := object{}
	for status, rows := range byStatus {
		var names []any
		var lines []string
		for _, e := range rows {
			names = append(names, e.Name)
			lines = append(lines, e.Name+": "+e.Message+".")
		}
		out[strconv.Itoa(status)] = object{
			"description": strings.Join(lines, " "),
			"x-errors":    names,
			"content":     content(object{"$ref": "#/components/schemas/Status"}),
		}
	}
	return out
}

// errorSchemas adds the shape of every error (A2A §11.6), and of an empty answer.
func errorSchemas(schemas object) {
	// ErrorInfo and BadRequest are checked where @type names them; other details pass.
	str := func(about string) object { return object{"type": "string", "description": about} }
	list := func(item any, about string) object {
		return object{"type": "array", "items": item, "description": about}
	}
	ref := func(name string) object { return object{"$ref": "#/components/schemas/" + name} }
	typed := func(name, about string, props object, must ...any) object {
		props["@type"] = object{"const": "type.googleapis.com/google.rpc." + name}
		return object{"type": "object", "description": about, "properties": props, "required": append([]any{"@type"}, must...)}
	}
	schemas["Empty"] = object{"type": "object", "description": "Nothing to say."}
	schemas["ErrorInfo"] = typed("ErrorInfo", "Which error it is, for programs.", object{
		"reason":   str("The error's name in capitals."),
		"domain":   str("Whose error it is."),
		"metadata": object{"type": "object", "additionalProperties": object{"type": "string"}, "description": "Further facts, by key."},
	}, "reason", "domain")
	schemas["BadRequest"] = typed("BadRequest", "Every field that is wrong.", object{
		"fieldViolations": list(object{
			"type": "object", "required": []any{"field", "description"},
			"properties": object{"field": str("The field's path, such as message.parts[0]."), "description": str("What was expected.")},
		}, "The fields."),
	}, "fieldViolations")
	schemas["ErrorDetail"] = object{
		"type": "object", "description": "A detail of an error, of the kind that its @type names.",
		"required": []any{"@type"}, "properties": object{"@type": str("A google.rpc type.")},
		"anyOf": []any{ref("ErrorInfo"), ref("BadRequest"), object{"properties": object{"@type": object{"not": object{
			"enum": []any{"type.googleapis.com/google.rpc.ErrorInfo", "type.googleapis.com/google.rpc.BadRequest"},
		}}}}},
	}
	schemas["Status"] = object{
		"type": "object", "description": "An error, as google.rpc.Status has it.", "required": []any{"error"},
		"properties": object{"error": object{
			"type": "object", "required": []any{"code", "status", "message"},
			"properties": object{
				"code":    object{"type": "integer", "description": "The HTTP status."},
				"status":  str("The name of the google.rpc code."),
				"message": str("What went wrong, for people."),
				"details": list(ref("ErrorDetail"), "What went wrong, for programs."),
			},
		}},
	}
}
