package testenv

import "testing"

func TestKindsHoldTablesOfOneTest(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			a, b := kind.New(t, MinIO(t)), kind.New(t, MinIO(t))
			id := a.Ident("events")
			CreateTable(t, a, id, EventSchema(), EventsByDay(), nil)
			if !Exists(t, a.Again(t), id) {
				t.Error("the same catalog opened again has no table")
			}
			if keys := a.S3.Objects("warehouse/"); len(keys) == 0 {
				t.Error("the table is not in the catalog's bucket")
			}
			if b.Namespace == a.Namespace && Exists(t, b, id) {
				t.Error("the table is in the other catalog too")
			}
		})
	}
}
