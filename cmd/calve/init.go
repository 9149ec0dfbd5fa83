package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

//go:embed calve.yaml
var exampleConfig string

var errNoOverwrite = errors.New("refused to overwrite it")

type initCommand struct {
	Config string `placeholder:"FILE" default:"calve.yaml" help:"File to write."`
}

// Help is the long help text.
func (initCommand) Help() string {
	return "Every key is in the file, with a comment. An existing file is never overwritten.\n\nExample:\n\n    calve init" +
		codes(0, 1, 2, 14)
}

func (c *initCommand) Run(a *app) error {
	f, err := os.OpenFile(c.Config, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: %w", c.Config, errNoOverwrite)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(exampleConfig)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		_, err = fmt.Fprintf(a.stdout, "wrote %s\n", c.Config)
	}
	return err
}
