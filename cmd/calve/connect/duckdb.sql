{{if or .Store .REST}}INSTALL httpfs; LOAD httpfs;
{{end}}INSTALL iceberg; LOAD iceberg;
{{if or (not .REST) .OwnKeys}}{{with .Store}}{{if not .Key}}INSTALL aws; LOAD aws;
{{end}}CREATE OR REPLACE SECRET lake_store (TYPE s3
{{- if .Key}}, KEY_ID getenv({{sql .Key}}), SECRET getenv({{sql .Secret}}){{else}}, PROVIDER credential_chain{{end}}
{{- if .Token}}, SESSION_TOKEN getenv({{sql .Token}}){{end}}
{{- if .Region}}, REGION {{sql .Region}}{{end}}
{{- if .Endpoint}}, ENDPOINT {{sql .Host}}, USE_SSL {{.TLS}}{{end}}
{{- if .PathStyle}}, URL_STYLE 'path'{{end}});
{{end}}{{end}}
{{- if .REST}}
{{- with .Credential}}CREATE OR REPLACE SECRET lake_catalog (TYPE iceberg, CLIENT_ID left(getenv({{sql .}}), greatest(instr(getenv({{sql .}}), ':') - 1, 0)), CLIENT_SECRET substr(getenv({{sql .}}), instr(getenv({{sql .}}), ':') + 1), OAUTH2_SERVER_URI {{sql $.TokenURI}}
{{- with $.Scope}}, OAUTH2_SCOPE {{sql .}}{{end}});
{{end}}
{{- with .Bearer}}CREATE OR REPLACE SECRET lake_catalog (TYPE iceberg, TOKEN getenv({{sql .}}));
{{end -}}
ATTACH {{sql .Warehouse}} AS lake (TYPE iceberg, ENDPOINT {{sql .URI}}
{{- if or .Credential .Bearer}}, SECRET lake_catalog{{else}}, AUTHORIZATION_TYPE 'none'{{end}}
{{- if .OwnKeys}}, ACCESS_DELEGATION_MODE 'none'{{end}});
SELECT * FROM lake.{{name .Schema}}.{{name .Name}} LIMIT 10;
{{else}}-- The table as it is now: after the next load, ask for this file's name again.
SELECT * FROM iceberg_scan({{sql .Metadata}}) LIMIT 10;
{{end -}}
