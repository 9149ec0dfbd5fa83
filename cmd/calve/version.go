package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

// version is set by the linker for a release: -X main.version=v1.2.3.
var version string

type versionCommand struct{}

// Help is the long help text.
func (versionCommand) Help() string {
	return "Example:\n\n    calve version" + codes(0)
}

func (versionCommand) Run(a *app) error {
	_, err := fmt.Fprintf(a.stdout, "calve %s (%s, %s/%s)\n", programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// versionFlag is --version, in front of any command or in its place.
type versionFlag bool

// BeforeReset answers before anything else of the command line is looked at, as
// --help does.
func (versionFlag) BeforeReset(k *kong.Kong, a *app) error {
	err := versionCommand{}.Run(a)
	if err == nil {
		k.Exit(0)
	}
	return err
}

// programVersion is the release's version, or what the build knows of itself.
func programVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}
