//! An open loop at a rate: times of sending that are fixed in advance, and what became of them.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use crate::Ledger;

/// The times of an offered load: when each message was to be sent, was sent, and was handled.
pub struct Clock {
    begin: Instant,
    rate: u64,
    sent: Box<[AtomicI64]>,
    late: Box<[AtomicI64]>, // how late each was sent, as far as the pacer is at fault
    handled: Box<[AtomicI64]>,
}

/// What the pacer saw.
pub struct Paced {
    pub publish_ns: i64,
    pub peak_lag: i64,
}

impl Clock {
    /// A schedule of messages at a rate per second. It begins 20 ms from now.
    pub fn new(messages: usize, rate: u64) -> Self {
        let zeros = || (0..messages).map(|_| AtomicI64::new(0)).collect();
        Clock {
            begin: Instant::now() + Duration::from_millis(20),
            rate,
            sent: zeros(),
            late: zeros(),
            handled: zeros(),
        }
    }

    pub fn messages(&self) -> usize {
        self.sent.len()
    }

    /// Notes that a message reached its handler.
    pub fn handled(&self, id: u64) {
        if let Some(place) = self.handled.get(id as usize) {
            place.store(self.now(), Ordering::Relaxed);
        }
    }

    pub fn scheduled_ns(&self) -> i64 {
        self.intended(self.sent.len() - 1)
    }

    fn now(&self) -> i64 {
        // Before the beginning it is negative, which the first messages of an early timer would be.
        match Instant::now().checked_duration_since(self.begin) {
            Some(since) => since.as_nanos() as i64,
            None => -(self.begin.duration_since(Instant::now()).as_nanos() as i64),
        }
    }

    fn intended(&self, i: usize) -> i64 {
        (i as u128 * 1_000_000_000 / u128::from(self.rate)) as i64
    }

    pub fn from_intended(&self) -> Vec<i64> {
        let since = |(i, at): (usize, &AtomicI64)| at.load(Ordering::Acquire) - self.intended(i);
        self.handled.iter().enumerate().map(since).collect()
    }

    pub fn from_send(&self) -> Vec<i64> {
        let since = |(at, sent): (&AtomicI64, &AtomicI64)| {
            at.load(Ordering::Acquire) - sent.load(Ordering::Acquire)
        };
        self.handled.iter().zip(&self.sent).map(since).collect()
    }

    pub fn lateness(&self) -> Vec<i64> {
        self.late
            .iter()
            .map(|late| late.load(Ordering::Acquire))
            .collect()
    }
}

/// What sends one message.
pub trait Sender {
    /// Sends the message of that number at that nanosecond, and ends when the broker has it.
    fn send(&self, id: u64, now: i64) -> impl Future<Output = Result<(), String>> + Send;
}

/// Sends every message at its time.
///
/// It does not sleep while it waits, since no timer is as exact as the gaps of a high rate. It is a task of the runtime
/// that gives way to every other that has something to do. It is at fault for the time from when a message was due, and
/// the send before it was over, to when it is sent. What the sends before it took is the subject's, and counts in its
/// latency.
pub async fn pace(clock: &Clock, ledger: &Ledger, sender: &impl Sender) -> Result<Paced, String> {
    let (mut peak_lag, mut free) = (0, 0);
    for i in 0..clock.messages() {
        let due = clock.intended(i);
        while clock.now() < due {
            tokio::task::yield_now().await;
        }
        let now = clock.now();
        clock.sent[i].store(now, Ordering::Relaxed);
        clock.late[i].store(now - due.max(free), Ordering::Relaxed);
        sender.send(i as u64, now).await?;
        free = clock.now();
        peak_lag = peak_lag.max(i as i64 + 1 - ledger.handled());
    }
    let first = clock.sent[0].load(Ordering::Relaxed);
    Ok(Paced {
        publish_ns: free - first,
        peak_lag,
    })
}
