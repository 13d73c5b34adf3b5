package demo

import (
	"bytes"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		happens func(s *service)
		status  int
		end     string // of the report
	}{
		"nothing": {
			func(*service) {}, StatusFine,
			"\npublished=0 handled=0 retried=0 dead=0 lost=0 duplicated=0\n",
		},
		"one lost": {
			func(s *service) {
				id := s.ledger.Next()
				s.ledger.Published(id)
				s.ledger.Handled(id, stockGroup)
			}, StatusLost,
			"\nlost: order-1 in payment, report\npublished=1 handled=0 retried=0 dead=0 lost=1 duplicated=0\n",
		},
		"many lost": {
			func(s *service) {
				for range 12 {
					s.ledger.Published(s.ledger.Next())
				}
			}, StatusLost,
			"\nlost: order-10 in payment, stock, report\nlost: and 2 more\n" +
				"published=12 handled=0 retried=0 dead=0 lost=12 duplicated=0\n",
		},
		"one twice": {
			func(s *service) {
				id := s.ledger.Next()
				s.ledger.Published(id)
				for _, g := range groups() {
					s.ledger.Handled(id, g)
				}
				s.ledger.Dead(id, stockGroup)
			}, StatusFine,
			"\nduplicated: order-1 in stock\npublished=1 handled=0 retried=0 dead=1 lost=0 duplicated=1\n",
		},
		"one from nowhere": {
			func(s *service) { s.ledger.Handled("order-7", stockGroup) }, StatusLost,
			"\nunknown: 1 messages were handled that nobody published\n" +
				"published=0 handled=0 retried=0 dead=0 lost=0 duplicated=0\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := newService(t.Context(), Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.close()
			test.happens(s)
			var out bytes.Buffer
			shot := newCamera(s).take()
			if status := report(&out, s, &shot); status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
			if !strings.HasSuffix(out.String(), test.end) {
				t.Errorf("the report does not end with %q:\n%s", test.end, out.String())
			}
		})
	}
}
