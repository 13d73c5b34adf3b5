//! The ledger: which messages were handled, and how often.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::usage;

/// A moment, with what was used until then.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    pub at: Instant,
    pub cpu_ns: i64,
    pub handled: i64,
}

/// The ledger of a run: a book for each consumer, merged after the window.
pub struct Ledger {
    messages: usize,
    books: Vec<Arc<Book>>,
    shared: Arc<Shared>,
}

struct Shared {
    remaining: AtomicI64,
    messages: i64,
    untimed: i64,         // of the last messages
    waiting: AtomicUsize, // consumers that have not handled a message
    start: OnceLock<Mark>,
    end: OnceLock<Mark>,
    opened: Notify,
    done: Notify,
}

/// The book of one consumer. Several tasks may write to it at once.
pub struct Book {
    seen: Box<[AtomicU64]>,
    attached: AtomicBool,
    duplicated: AtomicI64,
    strange: AtomicI64, // ids that were never published
    shared: Arc<Shared>,
}

impl Ledger {
    /// A ledger of messages with the ids 0 to messages - 1.
    pub fn new(messages: usize, consumers: usize) -> Self {
        Self::timed(messages, messages, consumers)
    }

    /// A ledger whose window ends when so many messages were handled.
    pub fn timed(messages: usize, timed: usize, consumers: usize) -> Self {
        let shared = Arc::new(Shared {
            remaining: AtomicI64::new(messages as i64),
            messages: messages as i64,
            untimed: messages.saturating_sub(timed) as i64,
            waiting: AtomicUsize::new(consumers),
            start: OnceLock::new(),
            end: OnceLock::new(),
            opened: Notify::new(),
            done: Notify::new(),
        });
        let book = || {
            Arc::new(Book {
                seen: (0..messages.div_ceil(64))
                    .map(|_| AtomicU64::new(0))
                    .collect(),
                attached: AtomicBool::new(false),
                duplicated: AtomicI64::new(0),
                strange: AtomicI64::new(0),
                shared: shared.clone(),
            })
        };
        let books = (0..consumers).map(|_| book()).collect();
        Ledger {
            messages,
            books,
            shared,
        }
    }

    /// The book of a consumer.
    pub fn book(&self, consumer: usize) -> Arc<Book> {
        self.books[consumer].clone()
    }

    /// Opens the window now. A drain does not call it: its window opens when every consumer has one.
    pub fn open(&self) {
        let _ = self.shared.start.set(self.shared.mark());
    }

    /// How many messages there are.
    pub fn messages(&self) -> i64 {
        self.shared.messages
    }

    /// How many messages were handled so far.
    pub fn handled(&self) -> i64 {
        self.shared.messages - self.shared.remaining.load(Ordering::Acquire)
    }

    /// Waits until all messages were handled. It is an error when nothing was handled for 30 seconds.
    pub async fn wait(&self) -> Result<(), String> {
        let mut last = self.handled();
        loop {
            let done = self.shared.done.notified();
            // The last message is counted before the end is marked, and with messages that are not timed long after it.
            if self.shared.end.get().is_some() && self.handled() == self.shared.messages {
                return Ok(());
            }
            if tokio::time::timeout(Duration::from_secs(30), done)
                .await
                .is_ok()
            {
                continue;
            }
            let handled = self.handled();
            if handled == last {
                return Err(format!(
                    "no progress for 30 s: {handled} of {} messages were handled",
                    self.messages
                ));
            }
            last = handled;
        }
    }

    /// The window, from its opening to the last message.
    pub fn window(&self) -> Result<(Mark, Mark), String> {
        let start = self
            .shared
            .start
            .get()
            .ok_or("not every consumer got a message")?;
        let end = self
            .shared
            .end
            .get()
            .ok_or("not all messages were handled")?;
        if start.handled * 2 >= self.shared.messages {
            return Err(
                "half of the corpus was gone before every consumer had handled a message".into(),
            );
        }
        Ok((*start, *end))
    }

    /// Merges the books: how many different messages were handled, and how many calls were one too many.
    pub fn merge(&self) -> Result<(i64, i64), String> {
        let (mut handled, mut calls) = (0, 0);
        for word in 0..self.messages.div_ceil(64) {
            let mut all = 0;
            for book in &self.books {
                let seen = book.seen[word].load(Ordering::Acquire);
                calls += i64::from(seen.count_ones());
                all |= seen;
            }
            handled += i64::from(all.count_ones());
        }
        let strange: i64 = self
            .books
            .iter()
            .map(|b| b.strange.load(Ordering::Acquire))
            .sum();
        if strange > 0 {
            return Err(format!(
                "{strange} messages had an id that was never published"
            ));
        }
        let again: i64 = self
            .books
            .iter()
            .map(|b| b.duplicated.load(Ordering::Acquire))
            .sum();
        Ok((handled, calls - handled + again))
    }
}

impl Book {
    /// Notes that a message was handled.
    pub fn note(&self, id: u64) {
        self.enter(id, |word, bit| word.fetch_or(bit, Ordering::Relaxed));
    }

    /// Notes that a message was handled by a consumer that handles one at a time, which needs no locked instruction.
    pub fn note_alone(&self, id: u64) {
        self.enter(id, |word, bit| {
            let before = word.load(Ordering::Relaxed);
            word.store(before | bit, Ordering::Relaxed);
            before
        });
    }

    fn enter(&self, id: u64, set: impl FnOnce(&AtomicU64, u64) -> u64) {
        let word = usize::try_from(id / 64).ok().and_then(|i| self.seen.get(i));
        let Some(word) = word.filter(|_| id < self.shared.messages as u64) else {
            self.strange.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let bit = 1 << (id % 64);
        if set(word, bit) & bit != 0 {
            self.duplicated.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let left = self.shared.remaining.fetch_sub(1, Ordering::AcqRel) - 1;
        if left == self.shared.untimed {
            let _ = self.shared.end.set(self.shared.mark());
        }
        if left == 0 {
            self.shared.done.notify_one();
        }
    }

    /// Holds a consumer of a drain at its first message until every consumer has one. Then the window opens.
    pub async fn hold(&self) {
        if !self.attached.load(Ordering::Relaxed) && !self.attached.swap(true, Ordering::Relaxed) {
            self.shared.hold().await;
        }
    }
}

impl Shared {
    #[cold]
    async fn hold(&self) {
        if self.waiting.fetch_sub(1, Ordering::AcqRel) == 1 {
            let _ = self.start.set(self.mark());
            self.opened.notify_waiters();
        }
        loop {
            let opened = self.opened.notified();
            if self.start.get().is_some() {
                return;
            }
            opened.await;
        }
    }

    fn mark(&self) -> Mark {
        Mark {
            at: Instant::now(),
            cpu_ns: usage::cpu_ns(),
            handled: self.messages - self.remaining.load(Ordering::Acquire),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_is_lost_and_what_comes_twice() {
        let ledger = Ledger::new(100, 2);
        for id in 0..99 {
            ledger.book(id as usize % 2).note(id);
        }
        assert!(ledger.window().is_err(), "a message is missing");
        ledger.book(0).note(1); // another consumer had it
        ledger.book(0).note(2); // the same consumer had it
        assert_eq!(ledger.merge().unwrap(), (99, 2));
        ledger.book(0).note(100);
        assert!(ledger.merge().unwrap_err().contains("never published"));
    }

    #[test]
    fn the_last_are_counted_and_not_timed() {
        let ledger = Ledger::timed(10, 7, 1);
        ledger.open();
        for id in 0..10 {
            ledger.book(0).note(id);
        }
        let (start, end) = ledger.window().unwrap();
        assert_eq!((start.handled, end.handled, ledger.handled()), (0, 7, 10));
        assert_eq!(ledger.merge().unwrap(), (10, 0));
    }

    #[tokio::test]
    async fn opens_when_every_consumer_has_one() {
        let ledger = Ledger::new(10, 2);
        let first = ledger.book(0);
        let held = tokio::spawn(async move {
            first.hold().await;
            first.note(0);
        });
        tokio::task::yield_now().await;
        assert_eq!((ledger.handled(), held.is_finished()), (0, false));
        ledger.book(1).hold().await;
        held.await.unwrap();
        for id in 1..10 {
            ledger.book(1).note(id);
        }
        let (start, end) = ledger.window().unwrap();
        assert_eq!((start.handled, end.handled), (0, 10));
    }
}
