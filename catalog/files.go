package catalog

type Files struct{}
