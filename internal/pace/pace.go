// Package pace says whether waking another goroutine helps. One that is through with all that came before another would be
// awake is only slowed down by others: they come too late, and then take its locks and its caches from it.
package pace

import "time"

const (
	// wakeTime is less than it takes until a goroutine that was woken does something: where its processor sleeps, tens of
	// microseconds to a hundred.
	wakeTime = 30 * time.Microsecond
	// tryTime is what several may take together of which one alone might take less than wakeTime.
	tryTime = 8 * wakeTime
	// tryEach is how often that is tried.
	tryEach = 64
	// cheapTime is less than it costs that another processor fetches a message, and what it writes of it comes back.
	cheapTime = 200 * time.Nanosecond
	// slowTime is what nothing quick takes, however busy the machine is.
	slowTime = time.Millisecond
	// proven is after how many messages without a slow one somebody may count as quick.
	proven = 1024
)

// A Pace is how fast somebody is done with what is brought. Who relies on one that is quick must look after a while whether
// it still is, and call Slow where nothing moved. The zero Pace is slow. It is not safe for concurrent use.
type Pace struct {
	began time.Time
	count int  // how much was brought, 0 once that was measured
	quick int  // messages since the last slow one, up to proven
	turn  int  // how often something was brought
	alone bool // nobody is woken for what was brought last
	// How long all that is brought takes, the latest counting most: whoever does it, and one alone.
	any, one time.Duration
	each     time.Duration // how long one message takes who has it, 0 where nobody told
	most     int           // how many of those take less than wakeTime
}

// Begin notes that n messages came, which is the begin of their time. It returns that.
func (p *Pace) Begin(n int) time.Time {
	p.began, p.count = time.Now(), n
	p.turn++
	cheap := p.each > 0 && p.each < stretched*cheapTime
	p.alone = p.quick == proven && (cheap || p.one < stretched*wakeTime || p.any < stretched*tryTime && p.turn%tryEach == 0)
	return p.began
}

// End notes that somebody comes for more, which is the end of their time. Of several calls the first counts.
func (p *Pace) End() {
	if p.count == 0 {
		return
	}
	took := time.Since(p.began)
	if took > stretched*slowTime {
		p.Slow()
	} else {
		p.quick = min(p.quick+p.count, proven)
	}
	p.any += (took - p.any) / 8
	if p.alone {
		p.one += (took - p.one) / 8
	}
	p.count = 0
}

// Each notes that one of those who share what is brought took so long for n messages, without a stop. What took much longer than
// ever was stopped all the same, by the machine; if it was not the next ones take as long.
func (p *Pace) Each(took time.Duration, n int) {
	one := max(took/time.Duration(n), 1)
	if p.each > 0 {
		one = p.each + (min(one, 8*p.each)-p.each)/8
	}
	p.each = one
	p.most = int(stretched * wakeTime / p.each)
}

// Share is how many of n that are left one of several may take at once. It is all for one that is to do all alone. Else none
// waits for longer than it would take to wake another, and it is a part of what is left, which gets smaller with it, so that all
// are done at about the same time (guided self-scheduling: Polychronopoulos and Kuck, IEEE Transactions on Computers C-36, 1987).
func (p *Pace) Share(n, among int) int {
	switch {
	case p.alone:
		return n
	case p.quick < proven:
		return 0
	default:
		return min(n/(2*among), p.most)
	}
}

// Late reports whether what was brought last takes longer already than anything quick.
func (p *Pace) Late() bool { return p.count > 0 && time.Since(p.began) > stretched*slowTime }

// Proven reports whether nothing was slow for long, so that what was brought last began a moment ago.
func (p *Pace) Proven() bool { return p.quick == proven }

// Slow makes it slow, until it has proven otherwise.
func (p *Pace) Slow() { p.quick, p.alone = 0, false }

// Quick reports whether one alone is to do what was brought last.
func (p *Pace) Quick() bool { return p.alone }
