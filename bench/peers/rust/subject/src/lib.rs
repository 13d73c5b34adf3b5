//! What the peers written in Rust share: the flags of a program that runs one cell once, the ledger of its messages, what
//! the process used, and the answer that it prints.

mod answer;
mod body;
mod ledger;
mod offered;
mod options;
mod order;
mod usage;

pub use answer::{Answer, Windows, unsupported};
pub use body::{body, number};
pub use ledger::{Book, Ledger, Mark};
pub use offered::{Clock, Sender, pace};
pub use options::{Method, Options};
pub use order::{Order, SEQUENCE_KEYS};

/// Runs a subject on the flags of the process and prints its answer. What is wrong goes to standard error, and the exit
/// status is 1, or 2 for flags that are wrong.
pub fn main(run: impl FnOnce(&Options) -> Result<Answer, String>) -> std::process::ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("{wrong}");
            return 2.into();
        }
    };
    match run(&options).and_then(|answer| answer.print()) {
        Ok(()) => 0.into(),
        Err(failed) => {
            eprintln!("{failed}");
            1.into()
        }
    }
}
