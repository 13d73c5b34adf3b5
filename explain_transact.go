package wherry

// Facts of transactions.
var (
	factTxExactly = fact{"transact/exactly", "Commit settles exactly what it was given; what else its Next brought comes again."}
	factTxAtomic  = fact{"transact/atomic", "What is sent in a transaction is seen once it was committed, and not before."}
	factTxAbort   = fact{"transact/abort", "Abort sends nothing and settles nothing: all of its Next comes again."}
	factTxClosed  = fact{"transact/close", "A transaction that is open when its receiver closes is aborted."}
	factTxCut     = fact{
		"transact/cut", "A connection that is lost with a transaction open leaves nothing of it, and all of its Next comes again, unless a Commit afterwards does all of it.",
	}
	factTransaction = fact{
		"engine/transaction", "What a handler publishes in its transaction, the retry or dead letter of its message and the settlement happen together: " +
			"what a failed handler published is never seen, and the rest once.",
	}
	factTxRevoke = fact{
		"engine/transaction-revoke", "A tenure that ends in the middle of a transaction aborts it, unless what is in hand is finished in time: " +
			"each message is handled again, and what follows from it is seen once.",
	}
)

// becauseTransactional says what is in a transaction, and what is not.
func (e *explainer) becauseTransactional(say func(string)) {
	say("What a handler publishes by the publishers of its source, the retry or dead letter of its message, and the settlement are one act of the broker.")
	say("What a handler does elsewhere is not: when a transaction fails, all of its messages are handled again.")
}

// explainTransactions says how they are done.
func (e *explainer) explainTransactions() {
	tx := e.source.tx
	e.means("transaction", ByBroker,
		saidf("A worker takes up to %d messages into one, calls no further handler after %v, and commits once none is in hand.", tx.size, tx.age),
		e.proven(factTransaction), known(factTxExactly), known(factTxAtomic), known(factTxAbort))
	if e.broker.Revokes {
		e.means("revocation of a transaction", ByBroker, e.proven(factTxRevoke))
	}
}

// crashesOfTransactions are the steps at which there is a transaction, on a broker that outlives the process.
func (e *explainer) crashesOfTransactions(again func(string) []Statement) {
	e.crash(crashHandled, append(again("Its transaction is not committed: it comes again, and what its handler published is never seen."),
		known(factTxClosed), known(factTxCut))...)
	e.crash(crashCommit, said("All of the transaction is done, or nothing: settlements, what was published, retries and dead letters."), known(factTxAtomic))
}
