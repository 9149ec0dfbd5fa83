package lake

import "context"

// Load replaces the table's rows in w, within the load's scope, by the source's
// rows for w. It either publishes one snapshot or leaves the table exactly as
// it was; calling it again for the same window is always safe. The receipt is
// filled as far as the load came, also with an error, which is an [*Error].
func (l *Loader) Load(ctx context.Context, load Load, src Source, w Window) (Receipt, error) {
	panic("not yet")
}
