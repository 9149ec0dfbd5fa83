package arrowio

import "strings"

// spelling is one name for each column of several files, by the name in lower
// case: files of one source may differ in the case of a name, and mean one
// column. It is how the first file spells it. Where a single file has both
// spellings these are two columns, and none of them is here.
type spelling map[string]string

func spellingOf(footers []*footer) spelling {
	names, twins := spelling{}, map[string]bool{}
	for _, f := range footers {
		within := map[string]bool{}
		for _, c := range f.columns {
			fold := strings.ToLower(c.Name)
			twins[fold] = twins[fold] || within[fold]
			within[fold] = true
			if _, known := names[fold]; !known {
				names[fold] = c.Name
			}
		}
	}
	for fold, two := range twins {
		if two {
			delete(names, fold)
		}
	}
	return names
}

// apply gives a file's columns their common names.
func (s spelling) apply(f *footer) {
	for i, c := range f.columns {
		if name, ok := s[strings.ToLower(c.Name)]; ok {
			f.columns[i].Name = name
		}
	}
}
