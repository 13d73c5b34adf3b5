package mem

// A ring is a queue of entries in publish order that grows as needed. The zero ring is empty.
type ring struct {
	buf  []*entry // its length is a power of two
	head int
	n    int
}

func (r *ring) at(i int) *entry { return r.buf[(r.head+i)&(len(r.buf)-1)] }

func (r *ring) set(i int, e *entry) { r.buf[(r.head+i)&(len(r.buf)-1)] = e }

func (r *ring) push(e *entry) {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = e
	r.n++
}

func (r *ring) pop() *entry {
	e := r.buf[r.head]
	r.buf[r.head] = nil
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	return e
}

// popTo takes out as many as dst has room for, and no more than there are.
func (r *ring) popTo(dst []*entry) {
	for len(dst) > 0 {
		run := r.buf[r.head:]
		n := copy(dst, run)
		clear(run[:n])
		r.head = (r.head + n) & (len(r.buf) - 1)
		r.n -= n
		dst = dst[n:]
	}
}

// insert puts e before entry i.
func (r *ring) insert(i int, e *entry) {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.n++
	if i < r.n/2 {
		r.head = (r.head - 1) & (len(r.buf) - 1)
		for j := range i {
			r.set(j, r.at(j+1))
		}
	} else {
		for j := r.n - 1; j > i; j-- {
			r.set(j, r.at(j-1))
		}
	}
	r.set(i, e)
}

// remove takes entry i out.
func (r *ring) remove(i int) *entry {
	e := r.at(i)
	if i < r.n/2 {
		for j := i; j > 0; j-- {
			r.set(j, r.at(j-1))
		}
		r.buf[r.head] = nil
		r.head = (r.head + 1) & (len(r.buf) - 1)
	} else {
		for j := i; j < r.n-1; j++ {
			r.set(j, r.at(j+1))
		}
		r.set(r.n-1, nil)
	}
	r.n--
	return e
}

// place returns the index at which an entry with this sequence number belongs.
func (r *ring) place(seq uint64) int {
	lo, hi := 0, r.n
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if r.at(mid).seq < seq {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// index returns where e is, or -1.
func (r *ring) index(e *entry) int {
	for i := range r.n {
		if r.at(i) == e {
			return i
		}
	}
	return -1
}

func (r *ring) grow() {
	bigger := make([]*entry, max(16, 2*len(r.buf)))
	n := copy(bigger, r.buf[r.head:])
	copy(bigger[n:], r.buf[:r.head])
	r.buf, r.head = bigger, 0
}
