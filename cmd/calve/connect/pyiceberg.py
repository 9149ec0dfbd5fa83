{{if .Environment}}import os

{{end}}from pyiceberg.catalog import load_catalog
{{with .Password}}
os.environ["PGPASSWORD"] = os.environ[{{py .}}]{{end}}
catalog = load_catalog(
    {{py .Catalog}},
    **{
{{- if .REST}}
        "type": "rest",
        "uri": {{py .URI}},
{{- with .Warehouse}}
        "warehouse": {{py .}},
{{- end}}
{{- with .Credential}}
        "credential": os.environ[{{py .}}],
        "oauth2-server-uri": {{py $.TokenURI}},
{{- with $.Scope}}
        "scope": {{py .}},
{{- end}}{{end}}
{{- with .Bearer}}
        "token": os.environ[{{py .}}],
{{- end}}
{{- else}}
        "type": "sql",
        "uri": {{if .SQLite}}{{py (print "sqlite:///" .URI)}}{{else}}{{py (print "postgresql+psycopg2://" .UserAt .URI)}}{{end}},
        "init_catalog_tables": "false",
{{- end}}
{{- with .Store}}
{{- if .Endpoint}}
        "s3.endpoint": {{py .Endpoint}},
{{- if not .PathStyle}}
        "s3.force-virtual-addressing": "true",
{{- end}}{{end}}
{{- with .Region}}
        "s3.region": {{py .}},
{{- end}}
{{- if .Key}}
        "s3.access-key-id": os.environ[{{py .Key}}],
        "s3.secret-access-key": os.environ[{{py .Secret}}],
{{- end}}
{{- with .Token}}
        "s3.session-token": os.environ[{{py .}}],
{{- end}}{{end}}
    },
)
table = catalog.load_table(({{range .Namespace}}{{py .}}, {{end}}{{py .Name}}))
print(table.scan(limit=10).to_arrow())
