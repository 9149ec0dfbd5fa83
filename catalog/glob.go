package catalog

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/calve-data/calve/lake"
)

// A glob is a pattern of paths without braces, cut at its slashes. Within one
// part *, ? and [a-z] have the meaning of [path.Match]; the part ** stands for
// any number of folders, none included.
type glob []string

// parseGlobs writes a pattern as the patterns that its braces stand for.
func parseGlobs(pattern string) ([]glob, error) {
	texts, err := expandBraces(pattern)
	if err != nil {
		return nil, err
	}
	globs := make([]glob, len(texts))
	for i, text := range texts {
		globs[i] = strings.Split(text, "/")
		for _, part := range globs[i] {
			if _, err := path.Match(part, ""); err != nil {
				return nil, fmt.Errorf("pattern %q: the brackets of %q do not close: %w", pattern, part, lake.ErrUsage)
			}
		}
	}
	return globs, nil
}

// expandBraces writes a{b,c}d as abd and acd. Braces may be nested; a \ takes
// the meaning from the character that follows it.
func expandBraces(pattern string) ([]string, error) {
	open := indexUnescaped(pattern, "{")
	if open < 0 {
		return []string{pattern}, nil
	}
	depth, start, alternatives := 0, open+1, []string(nil)
	for i := open; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			depth++
		case ',':
			if depth == 1 {
				alternatives = append(alternatives, pattern[start:i])
				start = i + 1
			}
		case '}':
			if depth--; depth > 0 {
				continue
			}
			alternatives = append(alternatives, pattern[start:i])
			var texts []string
			for _, a := range alternatives {
				more, err := expandBraces(pattern[:open] + a + pattern[i+1:])
				if err != nil {
					return nil, err
				}
				texts = append(texts, more...)
			}
			return texts, nil
		}
	}
	return nil, fmt.Errorf("pattern %q: the braces do not close: %w", pattern, lake.ErrUsage)
}

func indexUnescaped(text, chars string) int {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			i++
		} else if strings.IndexByte(chars, text[i]) >= 0 {
			return i
		}
	}
	return -1
}

// hasMeta reports whether a text is a pattern and not just a name.
func hasMeta(text string) bool { return indexUnescaped(text, `*?[{`) >= 0 }

// unescape takes the \ out of a part that is not a pattern.
func unescape(part string) string {
	var out strings.Builder
	for i := 0; i < len(part); i++ {
		if part[i] == '\\' && i+1 < len(part) {
			i++
		}
		out.WriteByte(part[i])
	}
	return out.String()
}

// literal is the longest prefix that every match has, up to the first part that
// is a pattern, which it returns the characters of that come before.
func (g glob) literal() string {
	var prefix strings.Builder
	for i, part := range g {
		if i > 0 {
			prefix.WriteByte('/')
		}
		if at := indexUnescaped(part, `*?[`); at >= 0 {
			prefix.WriteString(unescape(part[:at]))
			break
		}
		prefix.WriteString(unescape(part))
	}
	return prefix.String()
}

// oneFolder reports whether all matches are in the folder of the literal.
func (g glob) oneFolder() bool {
	return !slices.ContainsFunc(g[:len(g)-1], hasMeta) && g[len(g)-1] != "**"
}

// match reports whether a path, cut at its slashes, matches.
func (g glob) match(parts []string) bool {
	if len(g) == 0 {
		return len(parts) == 0
	}
	if g[0] == "**" {
		return g[1:].match(parts) || len(parts) > 0 && (len(g) == 1 || len(parts) > 1) && g.match(parts[1:])
	}
	if len(parts) == 0 {
		return false
	}
	ok, _ := path.Match(g[0], parts[0])
	return ok && g[1:].match(parts[1:])
}
