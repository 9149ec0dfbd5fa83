package testenv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// PostgresDB is a database of its own in a PostgreSQL server.
type PostgresDB struct {
	// URI is the database's, with user and password.
	URI string

	tb testing.TB
}

// Postgres returns a fresh database for the test. The server is the one that
// CALVE_POSTGRES_URI names (postgres://user:password@host:port/database, of a
// user who may create databases); else one PostgreSQL that all tests of the
// binary share and that ends with it. Its fsync is off.
func Postgres(tb testing.TB) *PostgresDB {
	tb.Helper()
	server := os.Getenv("CALVE_POSTGRES_URI")
	attached := server != ""
	if !attached {
		programs, err := postgresPrograms()
		if err != nil {
			lack(tb, "PostgreSQL", err.Error())
		}
		if server, err = thePostgres.start(programs); err != nil {
			tb.Fatalf("start PostgreSQL: %v", err)
		}
	}
	name := strings.ReplaceAll(bucketName(tb.Name()), "-", "_")
	admin := &PostgresDB{URI: server, tb: tb}
	admin.Exec("CREATE DATABASE " + name + " TEMPLATE template0") // no other test is connected to it
	if attached {
		tb.Cleanup(func() { admin.Exec("DROP DATABASE " + name + " WITH (FORCE)") })
	}
	return &PostgresDB{URI: inDatabase(server, name), tb: tb}
}

// Exec runs a statement in the database.
func (p *PostgresDB) Exec(statement string, args ...any) {
	p.tb.Helper()
	ctx := context.WithoutCancel(p.tb.Context())
	conn, err := pgx.Connect(ctx, p.URI)
	if err != nil {
		p.tb.Fatalf("PostgreSQL: %v", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement, args...); err != nil {
		p.tb.Fatalf("PostgreSQL: %s: %v", statement, err)
	}
}

// As is the database's URI for another user.
func (p *PostgresDB) As(user, password string) string {
	u, err := url.Parse(p.URI)
	if err != nil {
		p.tb.Fatalf("PostgreSQL: %v", err)
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}

func inDatabase(uri, name string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return uri // connecting says what is wrong with it
	}
	u.Path = "/" + name
	return u.String()
}

// postgresServer is a PostgreSQL that ends with the test binary.
type postgresServer struct {
	once    sync.Once
	err     error
	uri     string
	process *process
}

//nolint:gochecknoglobals // one process for all tests of a binary: making one for each would cost seconds a test
var thePostgres postgresServer

func (p *postgresServer) start(programs string) (string, error) {
	p.once.Do(func() {
		for range 3 { // the free port may be taken between asking and starting
			if p.err = p.try(programs); p.err == nil {
				return
			}
		}
	})
	return p.uri, p.err
}

func (p *postgresServer) try(programs string) error {
	dir, err := os.MkdirTemp("", "calve-postgres-")
	if err != nil {
		return err
	}
	password := fmt.Sprintf("%016x", rand.Uint64())
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte(password), 0o644); err != nil {
		return err
	}
	user, err := unprivileged(dir)
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	initdb := slices.Concat(user, []string{
		filepath.Join(programs, "initdb"), "--no-sync", "--no-locale", "-E", "UTF8",
		"-A", "scram-sha-256", "-U", "calve", "--pwfile", filepath.Join(dir, "password"), "-D", data,
	})
	cmd := exec.Command(initdb[0], initdb[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("initdb: %w\n%s", err, out), os.RemoveAll(dir))
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	// By QUIT it ends at once and still gives its shared memory back.
	p.process, err = startProcess("QUIT", dir, nil, slices.Concat(user, []string{
		filepath.Join(programs, "postgres"), "-D", data, "-h", host, "-p", port, "-k", "",
		"-c", "fsync=off", "-c", "max_connections=300",
	})...)
	if err != nil {
		return err
	}
	p.uri = fmt.Sprintf("postgres://calve:%s@%s/postgres?sslmode=disable", password, address)
	return p.process.await(60*time.Second, func() error { return connects(p.uri) })
}

func connects(uri string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) //nolint:forbidigo // for the binary, not for a test
	defer cancel()
	conn, err := pgx.Connect(ctx, uri)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// postgresPrograms is the folder of initdb and postgres. Debian does not put
// them into the PATH.
func postgresPrograms() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", errors.New("install it (Debian: apt-get install postgresql), or name a server in CALVE_POSTGRES_URI")
	}
	return filepath.Dir(slices.Max(found)), nil
}

// unprivileged is what a command begins with that must not be root's, and gives
// it the folder. For whoever is not root it is nothing.
func unprivileged(dir string) ([]string, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	const nobody = 65534
	if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, nobody, nobody))
	}); err != nil {
		return nil, err
	}
	id := fmt.Sprint(nobody)
	return []string{"setpriv", "--reuid", id, "--regid", id, "--clear-groups", "--"}, nil
}
