package mem

import "github.com/wherryhq/wherry/driver"

// Describe says what the senders and receivers of this broker say of themselves. It is the same for every source.
func (b *Broker) Describe(driver.Source) driver.Description {
	return driver.Description{Info: b.info(), Holds: !b.cfg.Weak.NoHold, Revokes: true}
}

// info is that of every receiver.
func (b *Broker) info() driver.Info {
	return driver.Info{
		SettleBatch:  settleBatch,
		SettleLinger: settleLinger,
		Lease:        b.cfg.Lease,
		MaxDelay:     maxDelay,
		HasCount:     !b.cfg.Weak.NoCount,
		Volatile:     true,
	}
}
