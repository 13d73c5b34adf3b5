package document

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// A seal stands beside facts that follow from nothing else, so that a wrong digit in one of them is found as well. It is
// a digest of all of them, a blank, and a byte for each, which tells which one is wrong. A seal finds mistakes; it does
// not keep anybody from writing another one.
type seal struct {
	digest string
	checks []byte
}

// digestBytes is how much of SHA-256 a digest keeps.
const digestBytes = 8

// sealOf seals the scalars within a value.
func sealOf(n *node) seal {
	hash := sha256.New()
	var checks []byte
	for _, leaf := range n.leaves() {
		fmt.Fprintf(hash, "%s %s %q\n", leaf.path, leaf.kind, leaf.text)
		checks = append(checks, check(leaf.text))
	}
	return seal{hex.EncodeToString(hash.Sum(nil)[:digestBytes]), checks}
}

// check is a byte that changes with every change of one byte: 31 is odd, so no power of it is zero modulo 256.
func check(s string) byte {
	var sum byte
	for i := range len(s) {
		sum = sum*31 + s[i]
	}
	return sum
}

func (s seal) String() string { return s.digest + " " + hex.EncodeToString(s.checks) }

// openSeal reads a seal. What is none has no digest.
func openSeal(s string) seal {
	digest, sums, _ := strings.Cut(s, " ")
	checks, err := hex.DecodeString(sums)
	if err != nil {
		return seal{}
	}
	return seal{digest, checks}
}

// broken notes what of a value is not as it was sealed. The value stands at path, its seal beside it.
func broken(n *node, path, stored string, found *faults) {
	is, was := sealOf(n), openSeal(stored)
	if is.String() == stored {
		return
	}
	leaves := n.leaves()
	before := len(*found)
	if len(was.checks) == len(leaves) {
		for i, leaf := range leaves {
			if is.checks[i] != was.checks[i] {
				found.addf(join(path, leaf.path), "%s is not what was measured: the seal of %s, a checksum, was made of another value", leaf.flat(), path)
			}
		}
	}
	if len(*found) == before {
		found.addf(join(path, "seal"), "is a checksum and does not fit: something of %s was changed, added or removed since it was measured", path)
	}
}

// facts are what of a row follows from nothing else.
func (r *Row) facts() Row {
	f := *r
	f.Seal, f.Summary = "", nil
	f.Runs = slices.Clone(r.Runs)
	for i := range f.Runs {
		f.Runs[i].Ledger.Lost = 0
	}
	if r.Load != nil {
		l := *r.Load
		l.Reached, l.Sustained, l.Ledger.Lost = 0, false, 0
		f.Load = &l
	}
	if r.Code != nil {
		f.Code = &Code{Runs: r.Code.Runs, Over: r.Code.Over}
	}
	return f
}

// sealed is what the seal of a part is of. The seals of its rows are in it, so that no row is removed unseen.
type sealed struct {
	Provenance Provenance `json:"provenance"`
	Rows       []rowSeal  `json:"rows"`
	Ratios     []rowsPair `json:"ratios"`
}

type rowSeal struct {
	Seal string `json:"seal"`
}

type rowsPair struct {
	Of Cell `json:"of"`
	To Cell `json:"to"`
}

func (p *Part) facts() sealed {
	s := sealed{Provenance: p.Provenance}
	for i := range p.Rows {
		s.Rows = append(s.Rows, rowSeal{p.Rows[i].Seal})
	}
	for _, ratio := range p.Ratios {
		s.Ratios = append(s.Ratios, rowsPair{ratio.Of, ratio.To})
	}
	return s
}

func (h *Host) facts() Host {
	f := *h
	f.Seal = ""
	return f
}

// sealedText is the seal of facts; they always marshal.
func sealedText(facts any) string {
	n, err := tree(facts)
	if err != nil {
		return ""
	}
	return sealOf(n).String()
}
