package testenv

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	iceio "github.com/apache/iceberg-go/io"
)

// WrapIO returns fs with the injector in between. It has the optional abilities
// of reading and writing whole objects, and those of listing and of removing
// many where fs has them.
func (in *Injector) WrapIO(fs iceio.IO) iceio.IO {
	return in.wrapIO(context.Background(), fs) //nolint:forbidigo // io.IO's calls carry no context; Until names one
}

func (in *Injector) wrapIO(ctx context.Context, fs iceio.IO) iceio.IO {
	f := faultyIO{in: in, ctx: ctx, fs: fs}
	list, lists := fs.(iceio.ListableIO)
	bulk, removes := fs.(iceio.BulkRemovableIO)
	switch {
	case lists && removes:
		return struct {
			faultyIO
			faultyList
			faultyBulk
		}{f, faultyList{f, list}, faultyBulk{f, bulk}}
	case lists:
		return struct {
			faultyIO
			faultyList
		}{f, faultyList{f, list}}
	case removes:
		return struct {
			faultyIO
			faultyBulk
		}{f, faultyBulk{f, bulk}}
	}
	return f
}

type faultyIO struct {
	in  *Injector
	ctx context.Context // iceberg-go opens a file system for one context; its calls carry none
	fs  iceio.IO
}

var (
	_ iceio.WriteFileIO = faultyIO{}
	_ iceio.ReadFileIO  = faultyIO{}
)

func (f faultyIO) Open(name string) (iceio.File, error) {
	var file iceio.File
	err := f.in.effect(f.ctx, "read", name, func() (err error) {
		file, err = f.fs.Open(name)
		return err
	})
	if err != nil {
		if file != nil {
			_ = file.Close()
		}
		return nil, err
	}
	return faultyFile{file, f.in}, nil
}

func (f faultyIO) ReadFile(name string) ([]byte, error) {
	var data []byte
	err := f.in.effect(f.ctx, "read", name, func() (err error) {
		if r, ok := f.fs.(iceio.ReadFileIO); ok {
			data, err = r.ReadFile(name)
			return err
		}
		file, err := f.fs.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		data, err = io.ReadAll(file)
		return err
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}

func (f faultyIO) Remove(name string) error {
	return f.in.effect(f.ctx, "remove", name, func() error { return f.fs.Remove(name) })
}

func (f faultyIO) WriteFile(name string, content []byte) error {
	w, ok := f.fs.(iceio.WriteFileIO)
	if !ok {
		return fmt.Errorf("write %s: %T cannot write", name, f.fs)
	}
	f.in.learn(name, content)
	return f.in.effect(f.ctx, "write", name, func() error { return w.WriteFile(name, content) })
}

func (f faultyIO) Create(name string) (iceio.FileWriter, error) {
	w, ok := f.fs.(iceio.WriteFileIO)
	if !ok {
		return nil, fmt.Errorf("create %s: %T cannot write", name, f.fs)
	}
	var file iceio.FileWriter
	err := f.in.effect(f.ctx, "create", name, func() (err error) {
		file, err = w.Create(name)
		return err
	})
	if err != nil {
		if file != nil {
			_ = file.Close()
		}
		return nil, err
	}
	return &faultyWriter{FileWriter: file, io: f, name: name}, nil
}

// faultyFile is an open object; its reads fail once the load is stopped.
type faultyFile struct {
	iceio.File
	in *Injector
}

func (f faultyFile) Read(p []byte) (int, error) {
	if f.in.Dead() {
		return 0, fmt.Errorf("read after the load was stopped: %w", ErrInjected)
	}
	return f.File.Read(p)
}

func (f faultyFile) ReadAt(p []byte, off int64) (int, error) {
	if f.in.Dead() {
		return 0, fmt.Errorf("read after the load was stopped: %w", ErrInjected)
	}
	return f.File.ReadAt(p, off)
}

// faultyWriter is an object being written; closing it is the effect.
type faultyWriter struct {
	iceio.FileWriter
	io     faultyIO
	name   string
	closed bool
}

func (w *faultyWriter) Write(p []byte) (int, error) {
	if w.io.in.Dead() {
		return 0, fmt.Errorf("write after the load was stopped: %w", ErrInjected)
	}
	return w.FileWriter.Write(p)
}

func (w *faultyWriter) ReadFrom(r io.Reader) (int64, error) {
	if w.io.in.Dead() {
		return 0, fmt.Errorf("write after the load was stopped: %w", ErrInjected)
	}
	return w.FileWriter.ReadFrom(r)
}

func (w *faultyWriter) Close() error {
	if w.closed {
		return w.FileWriter.Close()
	}
	w.closed = true
	done := false
	err := w.io.in.effect(w.io.ctx, "close", w.name, func() error {
		done = true
		return w.FileWriter.Close()
	})
	if !done {
		// No effect: the handle must go, and the object with it.
		_ = w.FileWriter.Close()
		_ = w.io.fs.Remove(w.name)
	}
	return err
}

type faultyList struct {
	faulty faultyIO
	list   iceio.ListableIO
}

func (f faultyList) WalkDir(root string, fn fs.WalkDirFunc) error {
	return f.faulty.in.effect(f.faulty.ctx, "list", root, func() error { return f.list.WalkDir(root, fn) })
}

type faultyBulk struct {
	faulty faultyIO
	bulk   iceio.BulkRemovableIO
}

func (f faultyBulk) DeleteFiles(ctx context.Context, paths []string) ([]string, error) {
	var deleted []string
	err := f.faulty.in.effect(ctx, fmt.Sprintf("remove %d objects", len(paths)), "", func() (err error) {
		deleted, err = f.bulk.DeleteFiles(ctx, paths)
		return err
	})
	return deleted, err
}
