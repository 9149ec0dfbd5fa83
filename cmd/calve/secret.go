package main

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
)

// secrets collects the values that no error, plan or receipt may show: what is
// read from ${file:…}, what is written under a key for secrets, and passwords
// inside URLs.
type secrets []string

var reference = regexp.MustCompile(`\$\{([^}]*)\}`)

// expand replaces ${NAME} by the environment's value and ${file:/path} by the
// file's content without its last line break. Both work on decoded scalars, so
// no value can change the structure of the file. The error names the key and
// the variable, never a value.
func (s *secrets) expand(key, text string, secret bool) (string, error) {
	var failed error
	out := reference.ReplaceAllStringFunc(text, func(ref string) string {
		name := ref[2 : len(ref)-1]
		if path, isFile := strings.CutPrefix(name, "file:"); isFile {
			content, err := os.ReadFile(path)
			if err != nil {
				failed = fmt.Errorf("%s: %w", key, err)
				return ""
			}
			value := strings.TrimRight(string(content), "\r\n")
			s.add(value)
			return value
		}
		value, set := os.LookupEnv(name)
		if !set {
			failed = fmt.Errorf("%s: the environment variable %s is not set", key, name)
		}
		return value
	})
	if failed != nil {
		return "", failed
	}
	if secret {
		s.add(out)
		if _, part, ok := strings.Cut(out, ":"); ok { // the secret of id:secret
			s.add(part)
		}
	}
	if u, err := url.Parse(out); err == nil && u.User != nil {
		if password, ok := u.User.Password(); ok {
			s.add(password)
			s.add(url.QueryEscape(password))
		}
	}
	return out, nil
}

// add notes a secret. Shorter than four letters is no secret, and replacing it
// everywhere would only make messages unreadable.
func (s *secrets) add(value string) {
	if len(value) >= 4 {
		*s = append(*s, value)
	}
}

// soundsSecret tells by its name whether a free property or a header holds a
// secret.
func soundsSecret(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"secret", "token", "password", "credential", "key", "auth"} {
		if strings.Contains(name, word) && !strings.Contains(name, "uri") {
			return true
		}
	}
	return false
}
