package driver

import "context"

// A Transactor settles what it received and sends what follows from it in one atomic act.
type Transactor interface {
	Broker
	// OpenTransacted opens one competing consumer of a queue or, where the source has a Group, one member of that group.
	// The context bounds the opening only.
	OpenTransacted(ctx context.Context, s Source) (TxReceiver, error)
}

// A TxReceiver receives inside transactions. Next, and the methods of the transaction that it opened, have one caller at a
// time; Info, Close and the methods of [Extender], [Revoker] and [Waiter], where it has them, may be called beside it.
type TxReceiver interface {
	// Next appends deliveries to dst, up to its capacity, and opens the transaction that will settle them. It waits and
	// fails as Receive of a [Receiver] does. The transaction is nil where Next brought nothing. Nothing more is received
	// until the transaction is over: Next before that is an error.
	//
	// A delivery is the engine's until its transaction is over. The memory of one that a commit did not settle is not used
	// again even then, since its handler may still read it: of what Commit was not given, and of all after a commit that
	// failed, after Abort and after Close.
	Next(ctx context.Context, dst []*Delivery) ([]*Delivery, Tx, error)

	// Info is constant for the life of the receiver. MaxDelay and DelayGrain are those of a Release that is given to
	// Commit; SettleBatch and SettleLinger mean nothing.
	Info() Info

	// Close aborts the open transaction, gives back what is unsettled and ends the receiver. It may be called more than
	// once, and beside Next and Commit, which then return [ErrClosed]. A Commit that begins afterwards is ErrClosed or
	// [ErrRevoked].
	Close(ctx context.Context) error
}

// A Tx is a transaction: what is sent in it and what it settles happens wholly, in one act, or not at all. Whatever happens
// to the process, the connection or the tenures of its deliveries before the commit, nothing of it is done and all of its
// Next comes again.
type Tx interface {
	// Send adds records to the transaction. Nobody sees them before the commit. A record whose Due has not come by then
	// becomes visible when it has, where the senders of the broker are [Holder]s; elsewhere nothing reads Due. The limits of a
	// call are those of a [Sender] to the target.
	//
	// Nil means that all are part of the transaction. Otherwise Send returns a [*BatchError] or one error for all: what
	// failed is not part of the transaction, the rest is, and the transaction goes on. Of two records of a key in a batch the
	// later is not added after the earlier failed. Send does not wait for room; a dead-letter or hold topic without
	// room is [ErrFull]. The batch and its bytes are the driver's until Send returns.
	Send(ctx context.Context, t Target, batch []Record) error

	// Commit makes visible what was sent and settles what it is given, which are deliveries of this transaction's Next, all
	// in one act. Deliveries that it is not given are released: they come again. It waits while a target is full or the
	// broker away, until ctx ends; the leases of its deliveries do not end meanwhile.
	//
	// Nil means that all of it is done. After an error nothing of it is, and all of its Next comes again; only an error
	// that matches [ErrUnconfirmed] leaves open which of the two. One delivery whose tenure ended, or that is of another
	// transaction, fails the whole commit, with [ErrRevoked]. The transaction is over, whatever Commit returns.
	Commit(ctx context.Context, done []Settlement) error

	// Abort ends the transaction without a trace: nothing is sent, nothing settled, and all of its Next comes again, which
	// is also so when it returns an error. Of a transaction that is over it does nothing.
	Abort(ctx context.Context) error
}
