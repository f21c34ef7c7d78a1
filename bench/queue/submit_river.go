package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// riverServer is the role of this program in which it serves River behind HTTP.
const riverServer = "river-server"

// serveRiver answers POST /v1/jobs as Penstock does: it checks the key, decodes the job, writes it, and answers with its id when
// it is on stable storage. Nothing works on the jobs.
func serveRiver(ctx context.Context, database string) error {
	p, err := openPeer(ctx, database, nil)
	if err != nil {
		return err
	}
	defer p.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: insertHandler{p}, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Printf("http://%s\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

type insertHandler struct{ *peer }

func (h insertHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/jobs" || r.Header.Get("Authorization") != "Bearer "+submitKey {
		http.Error(w, "unknown", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var job struct{ Model, Input string }
	if err := json.Unmarshal(body, &job); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	inserted, err := h.client.Insert(r.Context(), riverArgs{Serial: h.serial.Add(1), Text: job.Input}, nil)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_ = json.NewEncoder(w).Encode(map[string]any{"id": inserted.Job.ID, "object": "job", "status": inserted.Job.State, "model": job.Model})
}
