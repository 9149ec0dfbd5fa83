package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"

	"github.com/calve-data/calve/lake"
)

// listLocal walks the folders that can hold a match, and no others.
func listLocal(ctx context.Context, pattern string) ([]lake.File, error) {
	info, err := os.Stat(pattern)
	if err == nil && info.IsDir() {
		return nil, folderError(pattern)
	}
	if err == nil {
		return []lake.File{localFile(pattern, info)}, nil
	}
	globs, err := parseGlobs(pattern)
	if err != nil {
		return nil, err
	}
	var w localWalk
	for _, g := range globs {
		if err := w.walk(ctx, "", g); err != nil {
			return nil, err
		}
	}
	return w.files, nil
}

func folderError(pattern string) error {
	return fmt.Errorf("it is a folder: say which of its files, as in %s: %w", path.Join(pattern, "*.csv"), lake.ErrUsage)
}

// localWalk collects matches. A folder's path is "" for the working folder and
// else ends in a slash.
type localWalk struct{ files []lake.File }

func (w *localWalk) walk(ctx context.Context, dir string, g glob) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	switch part := g[0]; {
	case part == "**" && len(g) == 1:
		return w.walk(ctx, dir, glob{"**", "*"})
	case part == "**":
		return w.walkDeep(ctx, dir, g)
	case !hasMeta(part):
		return w.take(ctx, dir, unescape(part), g)
	}
	names, err := readFolder(dir)
	if err != nil {
		return err
	}
	for _, entry := range names {
		if ok, _ := path.Match(g[0], entry.Name()); ok {
			if err := w.take(ctx, dir, entry.Name(), g); err != nil {
				return err
			}
		}
	}
	return nil
}

// take goes on with a name that matches the first part of g.
func (w *localWalk) take(ctx context.Context, dir, name string, g glob) error {
	if len(g) > 1 && (name == "" || name == ".") {
		return w.walk(ctx, dir+name+"/", g[1:])
	}
	info, err := os.Stat(dir + name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(g) == 1 && info.Mode().IsRegular():
		w.files = append(w.files, localFile(dir+name, info))
	case len(g) > 1 && info.IsDir():
		return w.walk(ctx, dir+name+"/", g[1:])
	}
	return nil
}

// walkDeep tries what follows ** here and in every folder below. A link to a
// folder is not followed: it could lead back up.
func (w *localWalk) walkDeep(ctx context.Context, dir string, g glob) error {
	if err := w.walk(ctx, dir, g[1:]); err != nil {
		return err
	}
	entries, err := readFolder(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := w.walk(ctx, dir+entry.Name()+"/", g); err != nil {
				return err
			}
		}
	}
	return nil
}

func readFolder(dir string) ([]os.DirEntry, error) {
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

func localFile(path string, info os.FileInfo) lake.File {
	return lake.File{Path: path, Size: info.Size(), ETag: localETag(info)}
}

// localETag is what a file system has for a version: when and how long.
func localETag(info os.FileInfo) string {
	return strconv.FormatInt(info.ModTime().UnixNano(), 16) + "-" + strconv.FormatInt(info.Size(), 16)
}

// localReader checks, when a reading ends, that the open file was not written
// to meanwhile. A file that another one has been renamed over stays readable.
type localReader struct {
	f    *os.File
	file lake.File
}

func openLocal(file lake.File) (lake.ObjectReader, error) {
	f, err := os.Open(file.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, changed(file, "was removed")
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file.Path, err)
	}
	r := &localReader{f: f, file: file}
	if err := r.check(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

func (r *localReader) Size() int64  { return r.file.Size }
func (r *localReader) Close() error { return r.f.Close() }

func (r *localReader) Read(p []byte) (int, error) {
	n, err := r.f.Read(p)
	if err == io.EOF {
		if changed := r.check(); changed != nil {
			return n, changed
		}
	}
	return n, err
}

func (r *localReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.f.ReadAt(p, off)
	if changed := r.check(); changed != nil {
		return 0, changed
	}
	return n, err
}

func (r *localReader) check() error {
	info, err := r.f.Stat()
	if err != nil {
		return fmt.Errorf("reading %s: %w", r.file.Path, err)
	}
	if localETag(info) != r.file.ETag {
		return changed(r.file, "was changed")
	}
	return nil
}
