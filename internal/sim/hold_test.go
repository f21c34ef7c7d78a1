package sim

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

func held(name string) string {
	return fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"wait [sim:hold=%s]"}]}`, name)
}

func TestHeldRequestsWaitUntilReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{})
		codes := make(chan int, 2)
		for range 2 {
			go func() { codes <- ask(t, s, chatPath, held("a")).Code }()
		}
		synctest.Wait()
		if got := s.Stats(); got.InFlight != 2 || len(codes) != 0 {
			t.Fatalf("%d requests wait, %d were answered", got.InFlight, len(codes))
		}
		if err := s.Release("b"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(codes) != 0 {
			t.Fatal("a request was let go by another name")
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/sim/release?name=a", nil))
		wantStatus(t, w, http.StatusOK)
		for range 2 {
			if got := <-codes; got != http.StatusOK {
				t.Errorf("released, a request was answered with %d", got)
			}
		}
		if got := ask(t, s, chatPath, held("a")).Code; got != http.StatusOK {
			t.Errorf("a name that was released is answered with %d", got)
		}
	})
}

func TestHoldsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{})
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, chatPath, strings.NewReader(held("a")))
			s.ServeHTTP(httptest.NewRecorder(), r)
		}()
		codes := make(chan int, 1)
		go func() { codes <- ask(t, s, chatPath, held("a")).Code }()
		synctest.Wait()
		leave()
		synctest.Wait()
		if got := s.Stats(); got.InFlight != 1 || got.Cancelled != 1 {
			t.Errorf("after one left: %+v", got)
		}
		s.Reset()
		if got := <-codes; got != http.StatusOK {
			t.Errorf("a reset lets go with %d", got)
		}
	})
}

func TestHoldsAreBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{})
	for n := range MaxHolds {
		if err := s.Release(fmt.Sprint(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Release("one more"); err == nil {
		t.Error("there is no end of holds")
	}
	for _, body := range []string{held("one-more"), held(""), held(strings.Repeat("x", maxHoldName+1))} {
		wantStatus(t, ask(t, s, chatPath, body), http.StatusBadRequest)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/sim/release", nil))
	wantStatus(t, w, http.StatusBadRequest)
	s.Reset()
	if err := s.Release("one more"); err != nil {
		t.Errorf("after a reset: %v", err)
	}
}
