package charts

import (
	"strings"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
)

// refusal1 is a figure that says why it is not drawn.
func refusal1(family, name, title, why string) []Figure {
	return []Figure{{Family: family, Name: name, Title: title, Refusal: why}}
}

// orRefusal is figures, or one that says why there is none.
func orRefusal(figures []Figure, family, title, why string) []Figure {
	if len(figures) > 0 {
		return figures
	}
	backend, _, _ := strings.Cut(title, ":")
	return refusal1(family, slug(backend)+"-"+family, title, why)
}

// overhead is the chart of the cost over the raw client.
func overhead(d *document.Document, b *document.Backend) []Figure {
	why := "The document has no pairs of " + b.Name + ": the same work by the raw client, by the driver and by a service, in turn " +
		"over one connection. Without them nothing can be said about the cost over a client."
	if b.Pairs != nil {
		why = "The document has pairs of " + b.Name + ", which this version of the program does not draw."
	}
	f := refusal1("overhead", b.Name+"-overhead", b.Name+": cost over the raw client", why)
	if b.Pairs != nil {
		f[0].Caption = Provenance(&d.Host, &b.Pairs.Provenance)
	}
	return f
}

// flowThroughput compares flows of several steps.
func flowThroughput(d *document.Document, b *document.Backend) []Figure {
	var figures []Figure
	for _, p := range []*document.Part{b.Matrix, b.Peers} {
		s := turning(pick(d, b, p, isPipeline), byConsumers)
		if len(s.rows) > 0 {
			figures = append(figures, s.rates("flows", b.Name+"-flows-"+slug(s.rows[0].Flow),
				b.Name+": a flow of three steps by concurrency", byConsumers))
		}
	}
	return orRefusal(figures, "flows", b.Name+": a flow of three steps by concurrency",
		"The document has no rows of a flow of several steps: neither of Wherry nor of a peer.")
}

// isPipeline reports whether a row is the pipeline P3 of the method.
func isPipeline(r *document.Row) bool { return r.Flow == matrix.Pipeline || r.Flow == "p3" }

// slug makes a name fit for a file.
func slug(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return '-'
		}
	}, s), "-")
}
