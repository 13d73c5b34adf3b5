package document

import "strings"

// Void derives a part and takes the values from each row that a document would refuse, such as a run without a time: one
// row that went wrong must not cost all others. Such a row is [Failed], with what is wrong with it.
func (p *Part) Void() {
	p.Derive()
	for i := range p.Rows {
		r := &p.Rows[i]
		var v validator
		v.row(r, "", p.Provenance.Quick)
		if len(v.faults) == 0 {
			continue
		}
		if r.NotShown == nil {
			r.NotShown = &Reason{Failed, "no document takes what was measured: " + strings.TrimPrefix(v.faults[0].String(), ".")}
		}
		r.Runs, r.Load, r.Code, r.Extra = nil, nil, nil, nil
	}
	p.Derive()
}
