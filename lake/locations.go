package lake

import (
	"maps"
	"strings"

	"github.com/apache/iceberg-go/table"
)

// locationsOf names a table's objects below its location, taken as it is written.
//
// iceberg-go's own provider reads the location as a URL. The key of an object
// store is no URL: a folder "my data" would become "my%20data", and one with a
// "#" would end there, so that files lie outside of the table's folder, where
// its readers may have no right to look.
func locationsOf(t *table.Table) (table.LocationProvider, error) {
	location := strings.TrimRight(t.Location(), "/")
	scheme, _, ok := strings.Cut(location, "://")
	if !ok || scheme == "file" {
		return t.LocationProvider()
	}
	props := maps.Clone(t.Properties())
	if props == nil {
		props = map[string]string{}
	}
	raw := rawLocations{
		data:     strings.TrimRight(props.Get(table.WriteDataPathKey, location+"/data"), "/"),
		metadata: strings.TrimRight(props.Get(table.WriteMetadataPathKey, location+"/metadata"), "/"),
	}
	props[table.WriteDataPathKey], props[table.WriteMetadataPathKey] = stand, stand
	provider, err := table.LoadLocationProvider(stand, props)
	raw.LocationProvider = provider
	return raw, err
}

// stand stands for a folder while the library names what is in it.
const stand = "s3://stand"

type rawLocations struct {
	table.LocationProvider
	data, metadata string
}

func (r rawLocations) NewDataLocation(name string) string {
	return r.data + strings.TrimPrefix(r.LocationProvider.NewDataLocation(name), stand)
}

func (r rawLocations) NewMetadataLocation(name string) string {
	return r.metadata + strings.TrimPrefix(r.LocationProvider.NewMetadataLocation(name), stand)
}
