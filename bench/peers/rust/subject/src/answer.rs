//! What a program prints: one JSON object.

use serde::Serialize;

use crate::ledger::Ledger;
use crate::order::Order;
use crate::usage;

/// The answer of one run. Its fields are those of the results document.
#[derive(Serialize)]
pub struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<Run>,
    #[serde(skip_serializing_if = "Option::is_none")]
    load: Option<Load>,
    #[serde(skip_serializing_if = "Option::is_none")]
    none: Option<Reason>,
    settings: Vec<String>,
}

#[derive(Serialize)]
struct Reason {
    code: &'static str,
    text: String,
}

#[derive(Serialize, Default, Clone, Debug, PartialEq)]
struct Run {
    #[serde(skip_serializing_if = "is_zero")]
    windows: i64,
    messages: i64,
    elapsed_ns: i64,
    cpu_ns: i64,
    peak_rss_bytes: i64,
    ledger: Entries,
}

#[derive(Serialize)]
struct Load {
    scheduled_ns: i64,
    published: i64,
    publish_ns: i64,
    peak_lag: i64,
    ledger: Entries,
    cpu_ns: i64,
    peak_rss_bytes: i64,
    latency: Quantiles,
    from_send: Quantiles,
    pacer_late: Quantiles,
}

#[derive(Serialize, Default, Clone, Debug, PartialEq)]
struct Entries {
    published: i64,
    handled: i64,
    duplicated: i64,
    #[serde(skip_serializing_if = "is_zero")]
    reordered: i64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ordered: bool, // whether order was promised, and so judged
}

#[derive(Serialize)]
struct Quantiles {
    p50_ns: i64,
    p95_ns: i64,
    p99_ns: i64,
    p99_9_ns: i64,
    max_ns: i64,
}

/// The answer of a subject that cannot run the cell, with the ability that is missing.
pub fn unsupported(text: impl Into<String>) -> Answer {
    Answer {
        run: None,
        load: None,
        none: Some(Reason {
            code: "unsupported",
            text: text.into(),
        }),
        settings: Vec::new(),
    }
}

impl Answer {
    /// The answer of a live run that is over.
    pub fn of_run(ledger: &Ledger, settings: Vec<String>) -> Result<Self, String> {
        Ok(Answer::new(Run::of(ledger)?, settings))
    }

    /// The answer of a live run that is over, whose keys were promised an order.
    pub fn of_sequence(
        ledger: &Ledger,
        order: &Order,
        settings: Vec<String>,
    ) -> Result<Self, String> {
        let mut run = Run::of(ledger)?;
        run.ledger.ordered = true;
        run.ledger.reordered = order.reordered();
        Ok(Answer::new(run, settings))
    }

    fn new(run: Run, settings: Vec<String>) -> Self {
        Answer {
            run: Some(run),
            load: None,
            none: None,
            settings,
        }
    }

    /// The answer of an offered load that is over.
    pub fn of_load(
        ledger: &Ledger,
        clock: &crate::Clock,
        paced: &crate::offered::Paced,
        settings: Vec<String>,
    ) -> Result<Self, String> {
        let (start, end) = ledger.window()?;
        let load = Load {
            scheduled_ns: clock.scheduled_ns(),
            published: clock.messages() as i64,
            publish_ns: paced.publish_ns,
            peak_lag: paced.peak_lag,
            ledger: entries(ledger)?,
            cpu_ns: end.cpu_ns - start.cpu_ns,
            peak_rss_bytes: usage::peak_rss(),
            latency: quantiles(clock.from_intended()),
            from_send: quantiles(clock.from_send()),
            pacer_late: quantiles(clock.lateness()),
        };
        Ok(Answer {
            run: None,
            load: Some(load),
            none: None,
            settings,
        })
    }

    /// Prints the answer on standard output.
    pub fn print(&self) -> Result<(), String> {
        let text = serde_json::to_string(self).map_err(|e| e.to_string())?;
        println!("{text}");
        Ok(())
    }
}

impl Run {
    fn of(ledger: &Ledger) -> Result<Self, String> {
        let (start, end) = ledger.window()?;
        Ok(Run {
            windows: 0,
            messages: end.handled - start.handled,
            elapsed_ns: (end.at - start.at).as_nanos() as i64,
            cpu_ns: end.cpu_ns - start.cpu_ns,
            peak_rss_bytes: usage::peak_rss(),
            ledger: entries(ledger)?,
        })
    }
}

/// The windows of a drain, which add up to one run.
pub struct Windows {
    least_ns: i64,
    warm: bool,
    sum: Run,
}

impl Windows {
    /// Windows that take so many milliseconds together. The first warms the process up: its messages are judged with the
    /// others, and its time does not count. Zero is one window, which counts.
    pub fn new(least_ms: usize) -> Self {
        Windows {
            least_ns: least_ms as i64 * 1_000_000,
            warm: least_ms == 0,
            sum: Run::default(),
        }
    }

    /// Adds a window that is over. It tells whether the run needs another.
    pub fn add(&mut self, ledger: &Ledger) -> Result<bool, String> {
        Ok(self.join(Run::of(ledger)?))
    }

    fn join(&mut self, run: Run) -> bool {
        let sum = &mut self.sum;
        sum.ledger.published += run.ledger.published;
        sum.ledger.handled += run.ledger.handled;
        sum.ledger.duplicated += run.ledger.duplicated;
        sum.peak_rss_bytes = run.peak_rss_bytes;
        if !self.warm {
            self.warm = true;
            return true;
        }
        sum.windows += i64::from(self.least_ns > 0);
        sum.messages += run.messages;
        sum.elapsed_ns += run.elapsed_ns.max(1);
        sum.cpu_ns += run.cpu_ns;
        sum.elapsed_ns < self.least_ns
    }

    /// The answer of all windows.
    pub fn answer(self, settings: Vec<String>) -> Answer {
        Answer::new(self.sum, settings)
    }
}

fn is_zero(n: &i64) -> bool {
    *n == 0
}

fn entries(ledger: &Ledger) -> Result<Entries, String> {
    let (handled, duplicated) = ledger.merge()?;
    Ok(Entries {
        published: ledger.messages(),
        handled,
        duplicated,
        ..Entries::default()
    })
}

fn quantiles(mut values: Vec<i64>) -> Quantiles {
    values.sort_unstable();
    let at = |q: f64| {
        let rank = (q * values.len() as f64).ceil() as usize;
        values[rank.clamp(1, values.len()) - 1]
    };
    Quantiles {
        p50_ns: at(0.50),
        p95_ns: at(0.95),
        p99_ns: at(0.99),
        p99_9_ns: at(0.999),
        max_ns: at(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(handled: i64) -> Run {
        Run {
            windows: 0,
            messages: 9,
            elapsed_ns: 600_000,
            cpu_ns: 1,
            peak_rss_bytes: 5,
            ledger: Entries {
                published: 10,
                handled,
                ..Entries::default()
            },
        }
    }

    #[test]
    fn windows_add_up_and_the_first_is_not_timed() {
        let mut windows = Windows::new(1);
        assert!(windows.join(window(9)), "the first lost a message");
        assert!(windows.join(window(10)));
        assert!(!windows.join(window(10)));
        let sum = windows.sum;
        assert_eq!(
            (sum.windows, sum.messages, sum.elapsed_ns, sum.cpu_ns),
            (2, 18, 1_200_000, 2)
        );
        assert_eq!((sum.ledger.published, sum.ledger.handled), (30, 29));
    }

    #[test]
    fn a_sequence_tells_of_its_order() {
        let (ledger, order) = (Ledger::new(2, 1), Order::default());
        ledger.open();
        for id in [1, 0] {
            order.note(id);
            order.note(id * 1000);
            ledger.book(0).note(id);
        }
        let answer = Answer::of_sequence(&ledger, &order, Vec::new()).unwrap();
        let text = serde_json::to_string(&answer).unwrap();
        assert!(
            text.contains(r#""reordered":2,"ordered":true"#),
            "got {text}"
        );
        let plain = serde_json::to_string(&Answer::of_run(&ledger, Vec::new()).unwrap()).unwrap();
        assert!(!plain.contains("ordered"), "got {plain}");
    }

    #[test]
    fn one_window_is_the_run() {
        let mut windows = Windows::new(0);
        assert!(!windows.join(window(10)));
        assert_eq!(windows.sum, window(10));
    }

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let q = quantiles((1..=1000).rev().collect());
        assert_eq!(
            (q.p50_ns, q.p95_ns, q.p99_ns, q.p99_9_ns, q.max_ns),
            (500, 950, 990, 999, 1000)
        );
    }
}
