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
	tryEach = 8
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
}

// Begin notes that n messages came, which is the begin of their time.
func (p *Pace) Begin(n int) {
	p.began, p.count = time.Now(), n
	p.turn++
	p.alone = p.quick == proven && (p.one < stretched*wakeTime || p.any < stretched*tryTime && p.turn%tryEach == 0)
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

// Slow makes it slow, until it has proven otherwise.
func (p *Pace) Slow() { p.quick, p.alone = 0, false }

// Quick reports whether one alone is to do what was brought last.
func (p *Pace) Quick() bool { return p.alone }
