package lake

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// Severity says how much a finding matters.
type Severity string

const (
	// Unsafe is what makes a load lose or double rows, or be refused so that it
	// does not.
	Unsafe Severity = "unsafe"
	// Warn is what does so in some case that is likely to come.
	Warn Severity = "warn"
	// Note is what costs time, or is good to know.
	Note Severity = "note"
)

// Finding is something about a load that stands in the way of running it again
// and again. A page of docs/checks is named by its ID.
type Finding struct {
	ID       string
	Severity Severity
	// Message says what is so, and Advice what to do.
	Message, Advice string
}

// Checked is a load as [Loader.Check] found it.
type Checked struct {
	// Table is the table as it is now; nil where it does not exist, or is of a
	// kind that is not written.
	Table *table.Table
	// Exists is true where the table exists.
	Exists bool
	// TimeType is the type of the table's time column; nil where it is not known.
	TimeType iceberg.Type
	// Partition is the finest unit by which the table is partitioned on the time
	// column, or would be; zero where it is not.
	Partition Step
	Findings  []Finding
}

// CheckOptions say what is known of a load besides itself.
type CheckOptions struct {
	// Window is one to look at closer: whether the source has files for it, and
	// whether the table's can be replaced. Default: none for the source, and for the table the
	// newest that the load has loaded.
	Window Window
	// TimeType is the declared type of the time column, for a table that does
	// not exist yet. Default: not known.
	TimeType arrow.DataType
	// Keys looks, in modes merge and append, for keys that the table holds twice. It
	// reads the key columns, and that of the windows, of all rows in the load's scope,
	// and again where hashes of keys came twice, within [Loader.Memory].
	Keys bool
}

// checking is a check under way.
type checking struct {
	*loading
	src Source
	// asked is the window of the options, on the time column; zero where none is.
	asked Window
	// any is true where the window stands for none: nothing is to be read for it.
	any bool
	// keys is true where keys that are there twice are looked for.
	keys     bool
	timeType iceberg.Type
	fields   []timePartition
}

// Check looks for what stands in the way of running a load again and again. It
// reads metadata of the table and, for a window, the names of the source's
// files (see [CheckOptions] for what reads more), and writes nothing. A table that does not exist is no error.
func (l *Loader) Check(ctx context.Context, load Load, src Source, o CheckOptions) (*Checked, error) {
	c := &checking{loading: &loading{Loader: l.withDefaults(), load: load.withDefaults(), written: map[string]bool{}}, src: src, keys: o.Keys}
	findings, err := c.run(ctx, o)
	if err != nil {
		return nil, c.failed("check", o.Window, err)
	}
	return &Checked{Table: c.planned, Exists: !c.creates, TimeType: c.timeType, Partition: finestUnit(c.fields), Findings: findings}, nil
}

func (c *checking) run(ctx context.Context, o CheckOptions) ([]Finding, error) {
	if err := c.load.validate(); err != nil {
		return nil, err
	}
	if c.keys && c.load.Mode == Replace {
		return nil, fmt.Errorf("keys are of modes merge and append: %w", ErrUsage)
	}
	switch err := c.findTable(ctx); {
	case errors.Is(err, ErrRefused):
		return []Finding{unsupportedTable.finding(refusal(err))}, nil
	case err != nil:
		return nil, err
	}
	if err := c.bind(o); err != nil {
		return nil, err
	}
	var found []Finding
	for _, r := range tableChecks {
		text, err := r.finds(ctx, c)
		if err != nil {
			return nil, err
		}
		if text != "" {
			found = append(found, r.finding(text))
		}
	}
	return found, nil
}

// bind relates the load to the table.
func (c *checking) bind(o CheckOptions) (err error) {
	if c.creates {
		return c.bindNew(o)
	}
	meta := c.planned.Metadata()
	if err := c.own(o.Window, meta.CurrentSchema()); err != nil {
		return err
	}
	c.timeType = c.owned.time.Type
	c.fields = timePartitions(meta.PartitionSpec(), c.owned.timeID)
	return samePartitioning(meta.CurrentSchema(), meta.PartitionSpec(), c.load.PartitionBy)
}

// own binds the load to the window that is asked for or, where none is, to the
// newest one.
func (c *checking) own(asked Window, sc *iceberg.Schema) (err error) {
	if !asked.IsZero() {
		if c.owned, err = newOwned(c.load, asked, sc); err == nil {
			c.asked = c.owned.window
		}
		return err
	}
	if w := c.newest(); !w.IsZero() {
		if c.owned, err = newOwned(c.load, w, sc); err == nil {
			return nil
		}
	}
	c.any = true
	w, err := ParseWindow("1970-01-01", nil)
	if err == nil {
		c.owned, err = newOwned(c.load, w, sc)
	}
	return err
}

func (c *checking) bindNew(o CheckOptions) (err error) {
	if o.TimeType != nil {
		// A type that windows cannot be on is for the load to refuse.
		if t, e := table.ArrowTypeToIceberg(o.TimeType, false); e == nil {
			c.timeType = t
		}
	}
	if !o.Window.IsZero() {
		if c.asked, err = o.Window.On(Instants, c.load.Zone); err != nil {
			return err
		}
	}
	c.fields = draftedTimePartitions(c.load)
	return nil
}

// newest is the window that the load has loaded last; zero where none is known.
func (c *checking) newest() (w Window) {
	if c.base == nil {
		return w
	}
	for s := range ancestors(c.planned.Metadata(), c.base) {
		if p := summaryOf(s); p[keyLoad] == c.load.Name && w.UnmarshalText([]byte(p[keyWindow])) == nil {
			return w
		}
	}
	return Window{}
}

// refusal is an error's text without the sentinel at its end.
func refusal(err error) string {
	text := err.Error()
	for _, sentinel := range []error{ErrClaim, ErrRefused, ErrSkipped, ErrUsage} {
		text = strings.TrimSuffix(text, ": "+sentinel.Error())
	}
	return text
}
