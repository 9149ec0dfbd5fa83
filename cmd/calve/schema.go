package main

import (
	_ "embed"
	"io"
)

// configSchema is the JSON schema of calve.yaml, for editors. A test holds it
// to the structs of config.
//
//go:embed calve.schema.json
var configSchema string

type schemaCommand struct{}

// Help is the long help text.
func (schemaCommand) Help() string {
	return `Editors complete and check calve.yaml by it. The file that calve init writes names the
schema of the newest version in its first line; that of this version is used by

    calve schema > calve.schema.json

and a first line in calve.yaml that says

    # yaml-language-server: $schema=calve.schema.json` + codes(0, 1)
}

func (schemaCommand) Run(a *app) error {
	_, err := io.WriteString(a.stdout, configSchema)
	return err
}
