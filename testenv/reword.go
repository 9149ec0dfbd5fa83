package testenv

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

// AvroText is a text as Avro encodes it: its length, then its bytes.
func AvroText(text string) []byte {
	return append(binary.AppendVarint(nil, int64(len(text))), text...)
}

// Reword changes the encoded entries of the head's manifests in place, as if an
// engine had written them so that spells a value as no writer here does. change
// gets the entries of one manifest, as Avro without compression. It fails where
// nothing is changed.
func Reword(tb testing.TB, cat lake.Catalog, id table.Identifier, change func(entries []byte) []byte) {
	tb.Helper()
	t := Load(tb, cat, id)
	fs, err := t.FS(context.WithoutCancel(tb.Context()))
	if err != nil {
		tb.Fatal(err)
	}
	manifests, err := t.CurrentSnapshot().Manifests(fs)
	if err != nil {
		tb.Fatal(err)
	}
	changed := false
	for _, m := range manifests {
		was, err := fs.(iceio.ReadFileIO).ReadFile(m.FilePath())
		if err != nil {
			tb.Fatal(err)
		}
		is, err := reword(was, change)
		if err != nil {
			tb.Fatalf("reword %s: %v", m.FilePath(), err)
		}
		if is == nil {
			continue
		}
		changed = true
		if err := fs.(iceio.WriteFileIO).WriteFile(m.FilePath(), is); err != nil {
			tb.Fatal(err)
		}
	}
	if !changed {
		tb.Fatalf("reword %v: no manifest has what is to be changed", id)
	}
}

// reword rewrites an Avro file's blocks: each is a count, a size, the objects
// deflated, and the mark that ends the file's header too. It returns nil where
// nothing is changed.
func reword(file []byte, change func([]byte) []byte) ([]byte, error) {
	header, err := avroHeader(file)
	if err != nil {
		return nil, err
	}
	mark := file[header-16 : header]
	out, changed := bytes.Clone(file[:header]), false
	for rest := file[header:]; len(rest) > 0; {
		count, n := binary.Varint(rest)
		size, m := binary.Varint(rest[n:])
		start := n + m
		plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(rest[start : start+int(size)])))
		if err != nil {
			return nil, fmt.Errorf("a block: %w", err)
		}
		rest = rest[start+int(size)+16:]
		is := change(bytes.Clone(plain))
		changed = changed || !bytes.Equal(is, plain)
		var packed bytes.Buffer
		w, err := flate.NewWriter(&packed, flate.DefaultCompression)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(is); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		out = binary.AppendVarint(out, count)
		out = binary.AppendVarint(out, int64(packed.Len()))
		out = append(append(out, packed.Bytes()...), mark...)
	}
	if !changed {
		return nil, nil
	}
	return out, nil
}

// avroHeader is the length of an Avro file's header: a magic word, a map of
// texts to bytes, and a mark.
func avroHeader(file []byte) (int, error) {
	if !bytes.HasPrefix(file, []byte("Obj\x01")) {
		return 0, fmt.Errorf("no Avro file")
	}
	at := 4
	number := func() int {
		v, n := binary.Varint(file[at:])
		at += n
		return int(v)
	}
	for {
		pairs := number()
		if pairs < 0 {
			pairs = -pairs
			number() // the block's size
		}
		if pairs == 0 {
			return at + 16, nil
		}
		for range 2 * pairs {
			at += number()
		}
	}
}
