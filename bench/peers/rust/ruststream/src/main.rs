//! ruststream, on its broker inside the process.

use std::convert::Infallible;
use std::hint::black_box;
use std::sync::Arc;

use ruststream::OutgoingMessage;
use ruststream::memory::prelude::*;
use serde::Deserialize;
use subject::{Answer, Book, Ledger, Method, Options, Windows, unsupported};
use tokio::runtime::{Builder, Runtime};

/// What the handler gets of a body of the service. The other fields are filler.
#[derive(Debug, Deserialize)]
struct Order {
    id: u64,
    quantity: u32,
}

/// Ids begin here, so that every body has the same length.
const FIRST_ID: u64 = 1_000_000_000;

#[subscriber("orders")]
async fn consume(order: &Order, ctx: &mut Context<'_, (), Arc<Book>>) -> HandlerOutcome {
    black_box(order.quantity);
    let book = ctx.state();
    book.hold().await;
    book.note_alone(order.id.wrapping_sub(FIRST_ID));
    HandlerOutcome::ack()
}

fn main() -> std::process::ExitCode {
    subject::main(run)
}

fn run(options: &Options) -> Result<Answer, String> {
    for (wrong, what) in [
        (options.flow != "service", "flow"),
        (options.codec != "json", "codec"),
        (options.consumers != 1, "number of consumers"),
        (options.method == Method::Offered, "offered load"),
        (
            options.method == Method::Drain && options.procs != 1,
            "drain on several threads",
        ),
    ] {
        if wrong {
            return Ok(unsupported(format!(
                "this {what} is not part of the comparison"
            )));
        }
    }
    let runtime = runtime(options.procs).map_err(|e| e.to_string())?;
    runtime.block_on(async {
        if options.method == Method::Live {
            return Answer::of_run(&once(options).await?, settings(options));
        }
        let mut windows = Windows::new(options.window);
        while windows.add(&once(options).await?)? {}
        Ok(windows.answer(settings(options)))
    })
}

/// Runs the service once, on a broker of its own.
async fn once(options: &Options) -> Result<Ledger, String> {
    let ledger = Ledger::new(options.messages, 1);
    let book = ledger.book(0);
    let broker = MemoryBroker::new();
    let app = RustStream::new(AppInfo::new("bench", "0.0.0"))
        .on_startup(async move |()| Ok::<_, Infallible>(book))
        .with_broker(broker.clone(), |b| {
            b.include(consume);
        });
    // Its broker keeps nothing for a subscription that is not open, so the service is started before the corpus is there. On
    // one thread it gets no turn until the corpus is complete; the ledger refuses the run if it did.
    let running = app.start().await.map_err(|e| e.to_string())?;
    if options.method == Method::Live {
        ledger.open();
    }
    publish(options, &broker).await?;
    if options.method == Method::Drain && ledger.handled() > 0 {
        return Err("the service began before the corpus was complete".to_string());
    }
    ledger.wait().await?;
    running.shutdown().await.map_err(|e| e.to_string())?;
    Ok(ledger)
}

async fn publish(options: &Options, broker: &MemoryBroker) -> Result<(), String> {
    let publisher = broker.publisher();
    let mut body = subject::body(FIRST_ID, options.payload)?;
    for id in 0..options.messages as u64 {
        subject::number(&mut body, FIRST_ID + id);
        publisher
            .publish(OutgoingMessage::new("orders", &body), None)
            .await
            .map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn runtime(procs: usize) -> std::io::Result<Runtime> {
    match procs {
        1 => Builder::new_current_thread().enable_all().build(),
        n => Builder::new_multi_thread()
            .worker_threads(n)
            .enable_all()
            .build(),
    }
}

fn settings(options: &Options) -> Vec<String> {
    vec![
        "ruststream=0.7.7".into(),
        "codec=serde_json".into(),
        "queue=unbounded".into(),
        "workers=none, one message at a time".into(),
        format!("tokio_threads={}", options.procs),
    ]
}
