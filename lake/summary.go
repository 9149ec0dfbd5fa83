package lake

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// summary is the snapshot's summary: what the specification names, and the
// load's receipt and state.
func (j *loading) summary(parent *table.Snapshot, c *changes, a *attempt) *table.Summary {
	p := totals(parent, c)
	window, _ := j.owned.window.MarshalText()
	set := func(k, v string) {
		if v != "" {
			p[k] = v
		}
	}
	set(keyLoad, j.load.Name)
	set(keyWindow, string(window))
	set(keyScope, j.owned.scopeText())
	set(keyMode, string(j.load.Mode))
	set(keyRows, strconv.FormatInt(a.rows.Written, 10))
	set(keyDigest, j.digest.String())
	set(keyVolatile, idList(j.volatile))
	set(keyRun, j.Run)
	set(keySource, sourceText(j.origin))
	set(keySettings, j.load.Settings)
	set(keyVersion, j.Version)
	set(keyCoverage, a.state.coverage.String())
	set(keyWatermark, shortTime(a.state.watermark))
	return &table.Summary{Operation: operation(c), Properties: p}
}

// idList prints field ids. Names would not do: a column may be renamed, and
// another be given its name.
func idList(ids []int) string {
	var list []string
	for _, id := range ids {
		list = append(list, strconv.Itoa(id))
	}
	return strings.Join(list, ",")
}

// operation tells the truth about what a snapshot does. One that changes only
// the load's state is an empty append.
func operation(c *changes) table.Operation {
	switch {
	case len(c.removed)+len(c.deletes) == 0:
		return table.OpAppend
	case len(c.added) == 0:
		return table.OpDelete
	}
	return table.OpOverwrite
}

// totals counts what a snapshot changes. The running totals are kept only
// where the parent has them.
func totals(parent *table.Snapshot, c *changes) iceberg.Properties {
	var files, rows, size [2]int64
	partitions := map[string]bool{}
	for _, df := range c.added {
		files[0]++
		rows[0] += df.Count()
		size[0] += df.FileSizeBytes()
		partitions[fmt.Sprint(df.SpecID(), df.Partition())] = true
	}
	for _, e := range c.removed {
		files[1]++
		rows[1] += e.DataFile().Count()
		size[1] += e.DataFile().FileSizeBytes()
		partitions[fmt.Sprint(e.DataFile().SpecID(), e.DataFile().Partition())] = true
	}
	deletes := int64(0)
	for _, df := range c.deletes {
		deletes += df.Count()
		partitions[fmt.Sprint(df.SpecID(), df.Partition())] = true
		size[0] += df.FileSizeBytes()
	}
	p := iceberg.Properties{"changed-partition-count": strconv.Itoa(len(partitions))}
	put := func(key string, n int64) {
		if n != 0 {
			p[key] = strconv.FormatInt(n, 10)
		}
	}
	put("added-data-files", files[0])
	put("deleted-data-files", files[1])
	put("added-delete-files", int64(len(c.deletes)))
	put("added-position-delete-files", int64(len(c.deletes)))
	put("added-position-deletes", deletes)
	put("added-records", rows[0])
	put("deleted-records", rows[1])
	put("added-files-size", size[0])
	put("removed-files-size", size[1])
	total := func(key string, change int64) {
		before, ok := int64(0), parent == nil
		if parent != nil {
			n, err := strconv.ParseInt(summaryOf(parent)[key], 10, 64)
			before, ok = n, err == nil
		}
		if ok {
			p[key] = strconv.FormatInt(before+change, 10)
		}
	}
	total("total-data-files", files[0]-files[1])
	total("total-records", rows[0]-rows[1])
	total("total-files-size", size[0]-size[1])
	total("total-delete-files", int64(len(c.deletes)))
	total("total-position-deletes", deletes)
	total("total-equality-deletes", 0)
	return p
}
