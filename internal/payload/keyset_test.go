package payload

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// createEnv tells a copy of the test binary to be one of several processes that start at once.
const createEnv = "PENSTOCK_TEST_CREATE_KEYSET"

func TestMain(m *testing.M) {
	path := os.Getenv(createEnv)
	if path == "" {
		os.Exit(m.Run())
	}
	fmt.Println("ready")
	var start [1]byte
	os.Stdin.Read(start[:])
	keys, err := LoadOrCreate(path)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(fingerprint(keys))
}

// fingerprint identifies a keyset with all its secrets.
func fingerprint(keys *Keyset) string {
	text, err := keys.encode()
	if err != nil {
		return err.Error()
	}
	return base64.StdEncoding.EncodeToString(text)
}

func TestLoadOrCreateKeepsTheKeyset(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "data", "keyset.json")
	created, err := LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, load := range []func(string) (*Keyset, error){LoadOrCreate, Load} {
		if loaded, err := load(path); err != nil || fingerprint(loaded) != fingerprint(created) {
			t.Errorf("loaded %v, %v; want what was created, %v", loaded, err, created)
		}
	}
	modes := map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700, filepath.Dir(filepath.Dir(path)): 0o700}
	for name, want := range modes {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want mode %o", name, info.Mode(), err, want)
		}
	}
	wantOnly(t, filepath.Dir(path), "keyset.json")
}

func wantOnly(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("%s holds %v (%v), want %s alone", dir, entries, err, name)
	}
}

func TestLoadDoesNotCreate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keyset.json")
	if _, err := Load(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
	if _, err := Rotate(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 0 {
		t.Errorf("files were left behind: %v", entries)
	}
}

func TestGoroutinesCreateOneKeyset(t *testing.T) {
	t.Parallel()
	for range 10 {
		path := filepath.Join(t.TempDir(), "data", "keyset.json")
		prints := make([]string, 32)
		start := make(chan struct{})
		var group sync.WaitGroup
		for i := range prints {
			group.Go(func() {
				<-start
				keys, err := LoadOrCreate(path)
				if err != nil {
					t.Error(err)
					return
				}
				prints[i] = fingerprint(keys)
			})
		}
		close(start)
		group.Wait()
		for _, print := range prints[1:] {
			if print != prints[0] {
				t.Fatal("two callers got different keysets")
			}
		}
		wantOnly(t, filepath.Dir(path), "keyset.json")
	}
}

func TestProcessesCreateOneKeyset(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "keyset.json")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	reader, writer, err := os.Pipe() // closing it starts all processes together
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	commands := make([]*exec.Cmd, 6)
	outputs := make([]*bufio.Scanner, len(commands))
	for i := range commands {
		commands[i] = exec.CommandContext(t.Context(), self)
		commands[i].Env = append(os.Environ(), createEnv+"="+path)
		commands[i].Stdin = reader
		output, err := commands[i].StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := commands[i].Start(); err != nil {
			t.Fatal(err)
		}
		outputs[i] = bufio.NewScanner(output)
		if !outputs[i].Scan() || outputs[i].Text() != "ready" {
			t.Fatalf("process %d said %q, %v", i, outputs[i].Text(), outputs[i].Err())
		}
	}
	reader.Close()
	writer.Close()
	prints := make([]string, len(commands))
	for i, command := range commands {
		outputs[i].Scan()
		prints[i] = outputs[i].Text()
		if err := command.Wait(); err != nil {
			t.Fatalf("process %d: %v: %s", i, err, prints[i])
		}
	}
	keys, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, print := range prints {
		if print != fingerprint(keys) {
			t.Errorf("process %d got another keyset than the one on disk", i)
		}
	}
	wantOnly(t, filepath.Dir(path), "keyset.json")
}

func TestExposedKeysetIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keyset.json")
	if _, err := LoadOrCreate(path); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620, 0o644} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := LoadOrCreate(path)
		if !errors.Is(err, ErrKeysetExposed) || !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %o: got %v, want ErrKeysetExposed that says what to run", mode, err)
		}
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadOrCreate(path); err != nil {
		t.Errorf("mode 400: %v", err)
	}
}

func TestDamagedKeysetIsRefusedAndKept(t *testing.T) {
	t.Parallel()
	secret := base64.StdEncoding.EncodeToString(noise(secretBytes))
	good := fmt.Sprintf(`{"version":1,"primary_key_id":7,"keys":[{"id":7,"secret":%q}]}`, secret)
	if _, err := decodeKeyset([]byte(good)); err != nil {
		t.Fatal(err)
	}
	change := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	tests := map[string]struct{ text, says string }{
		"empty":            {"", "end of JSON"},
		"cut":              {good[:len(good)/2], "end of JSON"},
		"other file":       {"listen: 0.0.0.0:8080", "invalid character"},
		"trailing":         {good + good, "after top-level value"},
		"no version":       {change(`"version":1,`, ""), "version is 0"},
		"later version":    {change(`"version":1`, `"version":2`), "version is 2"},
		"no keys":          {`{"version":1,"primary_key_id":7,"keys":[]}`, "primary key 7 is missing"},
		"no primary":       {change(`"primary_key_id":7`, `"primary_key_id":8`), "primary key 8 is missing"},
		"short secret":     {change(secret, secret[:40]), "30 bytes instead of 32"},
		"secret no base64": {change(secret, "***"), "base64"},
		"twice":            {change(`]}`, fmt.Sprintf(`,{"id":7,"secret":%q}]}`, secret)), "key 7 is there twice"},
		"no id":            {change(`"id":7`, `"id":0`), "no id"},
		"huge":             {strings.Repeat(" ", maxKeysetFileBytes) + good, "over 1048576 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "keyset.json")
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, use := range []func(string) (*Keyset, error){Load, LoadOrCreate, Rotate} {
				_, err := use(path)
				says := fmt.Sprint(err)
				if !errors.Is(err, ErrKeysetDamaged) || !strings.Contains(says, test.says) || !strings.Contains(says, path) {
					t.Errorf("got %v, want ErrKeysetDamaged that names the file and says %q", err, test.says)
				}
				if strings.Contains(says, secret[:8]) {
					t.Errorf("the error shows a secret: %v", err)
				}
			}
			if kept, err := os.ReadFile(path); err != nil || string(kept) != test.text {
				t.Errorf("the damaged file was changed to %q, %v", kept, err)
			}
			wantOnly(t, filepath.Dir(path), "keyset.json")
		})
	}
}

func TestRotateKeepsOldKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keyset.json")
	keys, err := LoadOrCreate(path)
	if err != nil {
		t.Fatal(err)
	}
	sealed := map[uint32][]byte{}
	for range 4 {
		codec, err := New(keys)
		if err != nil {
			t.Fatal(err)
		}
		sealed[keys.PrimaryID()] = mustSeal(t, codec, someone, []byte("hello"))
		if keys, err = Rotate(path); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := Load(path)
	if err != nil || fingerprint(loaded) != fingerprint(keys) {
		t.Fatalf("loaded %v, %v; want what Rotate returned", loaded, err)
	}
	codec, err := New(loaded)
	if err != nil {
		t.Fatal(err)
	}
	if len(sealed) != 4 {
		t.Fatalf("%d different primaries sealed, want 4", len(sealed))
	}
	for id, box := range sealed {
		if opened, err := codec.Open(someone, box); err != nil || string(opened) != "hello" {
			t.Errorf("key %d: opened %q, %v", id, opened, err)
		}
	}
	wantOnly(t, filepath.Dir(path), "keyset.json")
}

// A rotation either takes effect or is refused: a key that was handed out must never be overwritten.
func TestConcurrentRotationsLoseNoKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keyset.json")
	if _, err := LoadOrCreate(path); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	primaries := make(chan uint32, 16*4)
	for range 16 {
		group.Go(func() {
			for range 4 {
				keys, err := Rotate(path)
				if err == nil {
					primaries <- keys.PrimaryID()
				} else if !errors.Is(err, fs.ErrExist) {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	close(primaries)
	keys, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	rotations := 0
	for id := range primaries {
		rotations++
		if _, ok := keys.secret(id); !ok {
			t.Errorf("key %d was handed out and lost", id)
		}
	}
	if rotations == 0 || len(keys.keys) != rotations+1 {
		t.Errorf("%d rotations succeeded and the keyset holds %d keys", rotations, len(keys.keys))
	}
	wantOnly(t, filepath.Dir(path), "keyset.json")
}

func TestInterruptedRotationSaysWhatToDo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keyset.json")
	if _, err := LoadOrCreate(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".next", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Rotate(path); err == nil || !strings.Contains(err.Error(), "remove "+path+".next") {
		t.Errorf("got %v, want an error that says which file to remove", err)
	}
	if _, err := LoadOrCreate(path); err != nil {
		t.Errorf("the keyset is unusable meanwhile: %v", err)
	}
}

func TestKeysetIsBounded(t *testing.T) {
	t.Parallel()
	keys := &Keyset{}
	for range MaxKeys {
		var err error
		if keys, err = keys.withNewPrimary(); err != nil {
			t.Fatal(err)
		}
	}
	text, err := keys.encode()
	if err != nil || len(text) > maxKeysetFileBytes {
		t.Fatalf("a full keyset takes %d bytes (%v), more than Load reads", len(text), err)
	}
	if _, err := decodeKeyset(text); err != nil {
		t.Errorf("a full keyset does not load: %v", err)
	}
	if _, err := keys.withNewPrimary(); err == nil {
		t.Errorf("a keyset of %d keys took one more", MaxKeys)
	}
}

func TestNoVerbPrintsASecret(t *testing.T) {
	t.Parallel()
	keys := newKeyset(t)
	secret := keys.keys[0].Secret
	shown := fmt.Sprintf("%v %+v %#v %s %q %x %d", keys, keys, keys, keys, keys, keys, keys)
	//lint:ignore SA9005 a keyset has no exported field, and this test holds that it stays so
	asJSON, err := json.Marshal(keys)
	if err != nil {
		t.Fatal(err)
	}
	encoded := base64.StdEncoding.EncodeToString(secret)
	forms := []string{string(secret), encoded, fmt.Sprintf("%x", secret), fmt.Sprint(secret)}
	for _, form := range forms {
		if strings.Contains(shown+string(asJSON), form) {
			t.Errorf("a secret is printed: %s", shown)
		}
	}
}
