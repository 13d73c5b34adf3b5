//! What a program prints: one JSON object.

use serde::Serialize;

use crate::ledger::{Ledger, Mark};
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

#[derive(Serialize)]
struct Run {
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

#[derive(Serialize)]
struct Entries {
    published: i64,
    handled: i64,
    duplicated: i64,
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
    /// The answer of a drain or a live run that is over.
    pub fn of_run(ledger: &Ledger, settings: Vec<String>) -> Result<Self, String> {
        let (start, end) = ledger.window()?;
        let run = Run {
            messages: end.handled - start.handled,
            elapsed_ns: (end.at - start.at).as_nanos() as i64,
            cpu_ns: end.cpu_ns - start.cpu_ns,
            peak_rss_bytes: usage::peak_rss(),
            ledger: entries(ledger, end)?,
        };
        Ok(Answer {
            run: Some(run),
            load: None,
            none: None,
            settings,
        })
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
            ledger: entries(ledger, end)?,
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

fn entries(ledger: &Ledger, end: Mark) -> Result<Entries, String> {
    let (handled, duplicated) = ledger.merge()?;
    Ok(Entries {
        published: end.handled,
        handled,
        duplicated,
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

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let q = quantiles((1..=1000).rev().collect());
        assert_eq!(
            (q.p50_ns, q.p95_ns, q.p99_ns, q.p99_9_ns, q.max_ns),
            (500, 950, 990, 999, 1000)
        );
    }
}
