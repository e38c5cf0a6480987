// Package queries holds the database's schema, as goose migrations, and the statements
// that sqlc compiles into gen/db.
package queries

import "embed"

// Schema is the folder "schema", with one migration a file.
//
//go:embed schema/*.sql
var Schema embed.FS
