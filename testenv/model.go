package testenv

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"

	"github.com/calve-data/calve/lake"
)

// EventSchema is the table that the model stands for: four optional columns.
func EventSchema() *iceberg.Schema {
	return iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64},
		iceberg.NestedField{ID: 2, Name: "event_time", Type: iceberg.PrimitiveTypes.TimestampTz},
		iceberg.NestedField{ID: 3, Name: "region", Type: iceberg.PrimitiveTypes.String},
		iceberg.NestedField{ID: 4, Name: "value", Type: iceberg.PrimitiveTypes.Int64},
	)
}

// EventArrow is the same table's rows as Arrow.
func EventArrow() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "event_time", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
		{Name: "region", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "value", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil)
}

// EventsByDay partitions the events by the day of their time.
func EventsByDay() *iceberg.PartitionSpec {
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1000, Name: "event_time_day", Transform: iceberg.DayTransform{}})
	return &spec
}

// Event is one row of the model.
type Event struct {
	ID int64
	// Time is in microseconds since 1970; nil is null.
	Time   *int64
	Region *string
	Value  int64
}

// NewEvent is an event at an instant such as 2026-05-04T10:00:00Z; an empty
// instant or region is a null one. It panics on text that is no instant.
func NewEvent(id int64, instant, region string, value int64) Event {
	e := Event{ID: id, Value: value}
	if instant != "" {
		at, err := time.Parse(time.RFC3339Nano, instant)
		if err != nil {
			panic(err)
		}
		us := at.UnixMicro()
		e.Time = &us
	}
	if region != "" {
		e.Region = &region
	}
	return e
}

// Row is the event as a literal row.
func (e Event) Row() Row {
	row := Row{"id": e.ID, "event_time": nil, "region": nil, "value": e.Value}
	if e.Time != nil {
		row["event_time"] = time.UnixMicro(*e.Time).UTC()
	}
	if e.Region != nil {
		row["region"] = *e.Region
	}
	return row
}

// String is the event in the text form of the package.
func (e Event) String() string {
	at, region := "NULL", "NULL"
	if e.Time != nil {
		at = time.UnixMicro(*e.Time).UTC().Format(instantForm)
	}
	if e.Region != nil {
		region = strconv.Quote(*e.Region)
	}
	return strings.Join([]string{strconv.FormatInt(e.ID, 10), at, region, strconv.FormatInt(e.Value, 10)}, " ")
}

// EventRows are events as literal rows.
func EventRows(events ...Event) []Row {
	rows := make([]Row, len(events))
	for i, e := range events {
		rows[i] = e.Row()
	}
	return rows
}

// Owned reports whether a load of the window and region owns the event; an
// empty region stands for no scope. A null time is in no window.
func (e Event) Owned(w lake.Window, region string) bool {
	if e.Time == nil || !w.Contains(time.UnixMicro(*e.Time)) {
		return false
	}
	return region == "" || e.Region != nil && *e.Region == region
}

// Model is what a correct table holds after the operations so far. It is safe
// for concurrent use.
type Model struct {
	mu   sync.Mutex
	rows []Event
}

// Replace makes the rows that the window and region own those of events that
// they own, and touches no other.
func (m *Model) Replace(w lake.Window, region string, events ...Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = slices.DeleteFunc(m.rows, func(e Event) bool { return e.Owned(w, region) })
	for _, e := range events {
		if e.Owned(w, region) {
			m.rows = append(m.rows, e)
		}
	}
}

// Append adds events.
func (m *Model) Append(events ...Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = append(m.rows, events...)
}

// Delete removes the events that gone holds for.
func (m *Model) Delete(gone func(Event) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = slices.DeleteFunc(m.rows, gone)
}

// Rows is a copy of the rows.
func (m *Model) Rows() []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.rows)
}

// Restore makes the rows those that they once were.
func (m *Model) Restore(rows []Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = slices.Clone(rows)
}

// Strings are the rows as text, sorted, to compare with [ReadAll].
func (m *Model) Strings() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := make([]string, len(m.rows))
	for i, e := range m.rows {
		rows[i] = e.String()
	}
	slices.Sort(rows)
	return rows
}
