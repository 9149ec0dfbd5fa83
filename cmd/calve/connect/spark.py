{{if .Environment}}import os

{{end}}from pyspark.sql import SparkSession

catalog = "spark.sql.catalog.{{.Alias}}"
spark = (
    SparkSession.builder.config("spark.jars.packages", {{py .Packages}})
    .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
    .config(catalog, "org.apache.iceberg.spark.SparkCatalog")
    .config(catalog + ".cache-enabled", "false")
{{- if .REST}}
    .config(catalog + ".type", "rest")
    .config(catalog + ".uri", {{py .URI}})
{{- with .Warehouse}}
    .config(catalog + ".warehouse", {{py .}})
{{- end}}
{{- with .Credential}}
    .config(catalog + ".credential", os.environ[{{py .}}])
    .config(catalog + ".oauth2-server-uri", {{py $.TokenURI}})
{{- with $.Scope}}
    .config(catalog + ".scope", {{py .}})
{{- end}}{{end}}
{{- with .Bearer}}
    .config(catalog + ".token", os.environ[{{py .}}])
{{- end}}
{{- if not .OwnKeys}}
    .config(catalog + ".header.X-Iceberg-Access-Delegation", "vended-credentials")
{{- end}}
{{- else}}
    .config(catalog + ".catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog")
    .config(catalog + ".uri", {{if .SQLite}}{{py (print "jdbc:sqlite:" .URI "?busy_timeout=30000")}}{{else}}{{py (print "jdbc:postgresql://" .URI)}}{{end}})
{{- with .User}}
    .config(catalog + ".jdbc.user", {{py .}})
{{- end}}
{{- with .Password}}
    .config(catalog + ".jdbc.password", os.environ[{{py .}}])
{{- end}}
    .config(catalog + ".jdbc.schema-version", "V1")
    .config(catalog + ".warehouse", {{py .Warehouse}})
{{- end}}
{{- with .Store}}
    .config(catalog + ".io-impl", "org.apache.iceberg.aws.s3.S3FileIO")
{{- if .Endpoint}}
    .config(catalog + ".s3.endpoint", {{py .Endpoint}})
    .config(catalog + ".s3.path-style-access", "{{.PathStyle}}")
{{- end}}
{{- with .Region}}
    .config(catalog + ".client.region", {{py .}})
{{- end}}
{{- if .Key}}
    .config(catalog + ".s3.access-key-id", os.environ[{{py .Key}}])
    .config(catalog + ".s3.secret-access-key", os.environ[{{py .Secret}}])
{{- end}}
{{- with .Token}}
    .config(catalog + ".s3.session-token", os.environ[{{py .}}])
{{- end}}{{end}}
    .getOrCreate()
)
spark.table({{py (print .Alias "." .Ticked)}}).show(10)
