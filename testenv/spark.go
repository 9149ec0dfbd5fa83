package testenv

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// sparkVersion names the folder that `make engines` installs Spark into.
const sparkVersion = "spark-4.1.4"

//nolint:gochecknoglobals // one process for all tests of a binary: a session takes ten seconds to begin
var theSpark Interp

// Spark runs statements one after another and returns the rows of each, in the
// text form of the package. {catalog} in them stands for the catalog, which is
// one of a REST server. Answers are never those of a cached table.
func Spark(tb testing.TB, cat *AnyCatalog, statements ...string) [][][]string {
	tb.Helper()
	const script = "spark_run.py"
	alias := strings.ReplaceAll(cat.S3.Bucket, "-", "_")
	settings := map[string]string{"": "org.apache.iceberg.spark.SparkCatalog"}
	for key, value := range javaProperties(cat) {
		settings["."+key] = value
	}
	var answers [][][]json.RawMessage
	sparkInterp(tb).run(tb, script, map[string]any{
		"Spark": sparkPython(tb), "Catalog": alias, "Settings": settings, "Statements": statements,
	}, &answers)
	texts := make([][][]string, len(answers))
	for i, rows := range answers {
		texts[i] = rowsText(tb, script, rows)
	}
	return texts
}

// javaProperties reach a REST catalog for Iceberg's own library.
func javaProperties(cat *AnyCatalog) map[string]string {
	return map[string]string{
		"type": "rest", "uri": cat.Config.URI, "cache-enabled": "false",
		"io-impl": "org.apache.iceberg.aws.s3.S3FileIO", "client.region": cat.S3.Region,
		"s3.endpoint": cat.S3.Endpoint, "s3.path-style-access": "true",
		"s3.access-key-id": cat.S3.AccessKey, "s3.secret-access-key": cat.S3.SecretKey,
	}
}

// SparkJars are the jars that Spark needs for Iceberg, as spark.jars takes
// them, with a driver for SQLite.
func SparkJars(tb testing.TB) string {
	tb.Helper()
	heavy(tb)
	jars, _ := filepath.Glob(filepath.Join(cacheDir(), sparkVersion, "jars", "*.jar"))
	driver, _ := filepath.Glob(filepath.Join(cacheDir(), "lib", restVersion, "sqlite-jdbc-*.jar"))
	return strings.Join(append(jars, driver...), ",")
}

// SparkScript runs a script that begins a session of its own, in a process of
// its own, and returns what it prints.
func SparkScript(tb testing.TB, script string, env ...string) string {
	tb.Helper()
	path := "import sys\nsys.path.insert(0, " + jsonString(sparkPython(tb)) + ")\n"
	return PythonScript(tb, path+script, append(sparkEnv(tb, ""), env...)...)
}

func sparkInterp(tb testing.TB) *Interp {
	tb.Helper()
	heavy(tb)
	path, env := Python(tb).Path, sparkEnv(tb, " --jars "+SparkJars(tb))
	theSpark.mu.Lock()
	defer theSpark.mu.Unlock()
	theSpark.Path, theSpark.env = path, env
	return &theSpark
}

func sparkPython(tb testing.TB) string {
	tb.Helper()
	heavy(tb)
	home := filepath.Join(cacheDir(), sparkVersion)
	need(tb, "Spark", home)
	return filepath.Join(home, "python")
}

// sparkEnv is the environment that makes Spark small and local.
func sparkEnv(tb testing.TB, more string) []string {
	tb.Helper()
	args := more
	for _, setting := range []string{
		"spark.master=local[2]", "spark.driver.memory=1200m", "spark.ui.enabled=false",
		"spark.driver.bindAddress=127.0.0.1", "spark.driver.host=127.0.0.1",
		"spark.sql.session.timeZone=UTC", "spark.sql.shuffle.partitions=2",
		"spark.sql.extensions=org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
	} {
		args += " --conf " + setting
	}
	return []string{"JAVA_HOME=" + java(tb, 17, 21), "PYSPARK_SUBMIT_ARGS=" + strings.TrimSpace(args) + " pyspark-shell"}
}

func jsonString(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}
