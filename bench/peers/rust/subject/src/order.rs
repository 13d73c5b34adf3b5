//! The order of messages by key.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// How many keys the messages of a sequence have, in turn.
pub const SEQUENCE_KEYS: u64 = 1000;

/// Watches the order of messages whose key is their number modulo the number of keys. No two of a key are handled at once.
pub struct Order {
    next: Box<[AtomicU64]>, // of each key, one more than its last number
    reordered: AtomicI64,
}

impl Default for Order {
    fn default() -> Self {
        Order {
            next: (0..SEQUENCE_KEYS).map(|_| AtomicU64::new(0)).collect(),
            reordered: AtomicI64::new(0),
        }
    }
}

impl Order {
    /// Notes that a message is handled.
    pub fn note(&self, id: u64) {
        let next = &self.next[(id % SEQUENCE_KEYS) as usize];
        if id < next.load(Ordering::Relaxed) {
            self.reordered.fetch_add(1, Ordering::Relaxed);
        } else {
            next.store(id + 1, Ordering::Relaxed);
        }
    }

    /// How many messages came after a later one of their key.
    pub fn reordered(&self) -> i64 {
        self.reordered.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_came_after_a_later_one_of_its_key() {
        let order = Order::default();
        for id in [0, 2000, 1, 1001, 1000, 2001, 3000] {
            order.note(id);
        }
        assert_eq!(order.reordered(), 1, "1000 came after 2000");
    }
}
