package lake

// Claim is what a load says it owns in a table.
type Claim struct {
	TimeColumn, Scope, Mode string
}
