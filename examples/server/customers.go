package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// postAll has eight customers post orders until the shop is closed, and calls enough when some hundred were accepted. The channel
// brings the ids of all that were.
func postAll(url string, enough func()) <-chan []string {
	const customers, some = 8, 100
	var mu sync.Mutex
	var accepted []string
	var open sync.WaitGroup
	for c := range customers {
		open.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("order-%d-%d", c, n)
				if !post(url, id) {
					return
				}
				mu.Lock()
				accepted = append(accepted, id)
				if len(accepted) == some {
					enough()
				}
				mu.Unlock()
			}
		})
	}
	all := make(chan []string, 1)
	go func() {
		open.Wait()
		all <- accepted
	}()
	return all
}

// post reports whether the shop said yes. One that is closed says nothing.
func post(url, id string) bool {
	body := strings.NewReader(fmt.Sprintf(`{"id":%q,"item":"lamp"}`, id))
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url+"/orders", body)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return answer.Body.Close() == nil && answer.StatusCode == http.StatusAccepted
}
