package lake

import (
	"net/url"
	"path"
	"strings"

	"github.com/apache/iceberg-go/table"
)

// objectKey is the same for every way of writing one object's location: s3,
// s3a and s3n are one store, and a local file is its path, whether given as a
// file URL or plainly. Keys of a store are raw, nothing in them is decoded.
func objectKey(location string) string {
	scheme, rest, ok := strings.Cut(location, "://")
	switch {
	case !ok && strings.HasPrefix(location, "file:"), ok && strings.EqualFold(scheme, "file"):
		if u, err := url.Parse(location); err == nil && u.Opaque == "" {
			return "file:" + path.Clean(u.Path)
		}
		return "file:" + path.Clean(rest)
	case !ok:
		return "file:" + path.Clean(location)
	case scheme == "s3a" || scheme == "s3n":
		scheme = "s3"
	}
	bucket, key, _ := strings.Cut(rest, "/")
	return scheme + "://" + bucket + path.Clean("/"+key)
}

// objectKeys are all keys that a location may mean. Of a file URL with a % some
// engines decode nothing, so it may be of two files.
func objectKeys(location string) []string {
	keys := []string{objectKey(location)}
	if rest, ok := strings.CutPrefix(location, "file:"); ok && strings.Contains(rest, "%") {
		keys = append(keys, "file:"+path.Clean("/"+strings.TrimLeft(rest, "/")))
	}
	return keys
}

// below reports whether an object lies in a folder; orders2 is not in orders.
func below(key, folder string) bool {
	return strings.HasPrefix(key, strings.TrimSuffix(objectKey(folder), "/")+"/")
}

// places are the folders that a table's files belong into.
func places(meta table.Metadata) []string {
	out := []string{meta.Location()}
	for _, key := range []string{table.WriteDataPathKey, table.WriteMetadataPathKey, "write.object-storage.path", "write.folder-storage.path"} {
		if p := meta.Properties()[key]; p != "" {
			out = append(out, p)
		}
	}
	return out
}

// belowAny reports whether an object lies in one of the folders.
func belowAny(key string, folders []string) bool {
	for _, f := range folders {
		if below(key, f) {
			return true
		}
	}
	return false
}
