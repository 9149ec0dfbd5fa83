package lake

import (
	"context"
	"errors"
)

// Receipt says what a load did. Its JSON form is stable.
type Receipt struct {
	Outcome          Outcome       `json:"outcome"`
	Load             string        `json:"load"`
	Table            string        `json:"table"`
	Mode             string        `json:"mode"`
	Branch           string        `json:"branch"`
	Window           *WindowJSON   `json:"window"`
	SnapshotID       string        `json:"snapshot_id"` // of an unchanged load, that of the load that stands
	BaseSnapshotID   string        `json:"base_snapshot_id"`
	MetadataLocation string        `json:"metadata_location"`
	Rows             RowCounts     `json:"rows"`
	ByKey            *KeyCounts    `json:"by_key,omitempty"`    // in modes merge and append
	Conflicts        []string      `json:"conflicts,omitempty"` // the first, in mode append
	Files            FileCounts    `json:"files"`
	Bytes            ByteCounts    `json:"bytes"`
	Digest           *string       `json:"digest"`
	Watermark        *string       `json:"watermark"`
	Attempts         int           `json:"attempts"`
	Seconds          float64       `json:"seconds"`
	Warnings         []Warning     `json:"warnings,omitempty"`        // as in [Plan]
	Ignored          []string      `json:"ignored_columns,omitempty"` // as in [Plan]
	Error            *ReceiptError `json:"error"`
}

// Outcome is how a load ended.
type Outcome string

// The outcomes that a receipt can show.
const (
	Landed      Outcome = "landed"
	Unchanged   Outcome = "unchanged"
	Failed      Outcome = "failed"
	Superseded  Outcome = "superseded"
	Unknown     Outcome = "unknown"
	Refused     Outcome = "refused"
	Skipped     Outcome = "skipped"
	Interrupted Outcome = "interrupted"
)

// outcomeOf is the outcome that a load's error stands for.
func outcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return Landed
	case errors.Is(err, ErrUnknown):
		return Unknown
	case errors.Is(err, ErrSuperseded):
		return Superseded
	case errors.Is(err, ErrRefused), errors.Is(err, ErrOutsideWindow):
		return Refused
	case errors.Is(err, ErrSkipped):
		return Skipped
	case errors.Is(err, context.Canceled):
		return Interrupted
	}
	return Failed
}

// WindowJSON is a window in machine-readable output. The bounds of a naive
// time column carry no Z.
type WindowJSON struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// JSON returns w for machine-readable output; nil for the zero window.
func (w Window) JSON() *WindowJSON {
	if w.IsZero() {
		return nil
	}
	from, to := w.Bounds()
	return &WindowJSON{From: from, To: to}
}

// RowCounts counts rows of one load.
type RowCounts struct {
	// Read is the number of rows that the source delivered; row groups that
	// were skipped by their bounds are not in it.
	Read int64 `json:"read"`
	// Outside is how many of them were outside the window or the scope.
	Outside int64 `json:"outside"`
	// Written is the number of rows of the window now in the table.
	Written int64 `json:"written"`
	// Replaced is the number of rows that were in the window before.
	Replaced int64 `json:"replaced"`
	// ReplacedAtMost is true where deletes applied to a replaced file, so that
	// Replaced is an upper bound.
	ReplacedAtMost bool `json:"replaced_at_most,omitempty"`
	// Foreign is how many of the replaced rows were committed, by something
	// other than a load of this name, since the base.
	Foreign int64 `json:"foreign"`
}

// FileCounts counts files of one load.
type FileCounts struct {
	// Read is the number of source files.
	Read int `json:"read"`
	// Added is the number of data files added, survivors of straddling files included.
	Added int `json:"added"`
	// Removed is the number of data files removed.
	Removed int `json:"removed"`
	// Deletes is the number of position delete files added, in mode merge with
	// write: merge-on-read.
	Deletes int `json:"deletes,omitempty"`
	// Rewritten is how many of the removed files were written again without some rows.
	Rewritten int `json:"rewritten"`
}

// ByteCounts counts bytes of one load, as stored.
type ByteCounts struct {
	Read    int64 `json:"read"`
	Written int64 `json:"written"`
}

// ReceiptError is an error in machine-readable output.
type ReceiptError struct {
	// Code is the exit code of the command; the library leaves errors to it.
	Code int `json:"code"`
	// Kind is a short stable word for the kind of error.
	Kind string `json:"kind"`
	// Message is the error as people see it.
	Message string `json:"message"`
	// Hint is what to do about it; may be empty.
	Hint string `json:"hint,omitempty"`
}
