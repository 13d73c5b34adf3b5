//! shove, on its broker inside the process.

mod sequence;

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shove::batch_consumer::BatchConsumerOptions;
use shove::inmemory::InMemoryConfig;
use shove::{
    BatchMessageHandler, Broker, ConsumerOptions, InMemory, MessageHandler, MessageMetadata,
    Outcome, Publisher, TopologyBuilder, define_topic,
};
use subject::{
    Answer, Book, Clock, Ledger, Method, Options, Order, SEQUENCE_KEYS, Sender, Windows,
    unsupported,
};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The body that every subject of a drain decodes.
#[derive(Clone, Serialize, Deserialize)]
struct Body {
    id: u64,
    published_at: i64,
    payload: String,
}

define_topic!(Bench, Body, TopologyBuilder::new("bench").dlq().build());

/// A batch holds as many messages, or what came within as long, as shove's own defaults say.
const BATCH_SIZE: usize = 500;
const BATCH_AGE: Duration = Duration::from_millis(250);

/// The bound of a live queue, as of every subject; a drain's is its corpus.
const BOUND: usize = 10_000;

/// The flow of messages that are handled in the order of their keys.
const SEQUENCE: &str = "sequence";

struct Handler {
    book: Arc<Book>,
    clock: Arc<OnceLock<Clock>>,
}

impl MessageHandler<Bench> for Handler {
    type Context = ();

    async fn handle(&self, body: Body, _: MessageMetadata, _: &()) -> Outcome {
        if let Some(clock) = self.clock.get() {
            clock.handled(body.id);
        }
        self.book.hold().await;
        self.book.note(body.id);
        Outcome::Ack
    }
}

struct BatchHandler(Arc<Book>);

impl BatchMessageHandler<Bench> for BatchHandler {
    type Context = ();

    async fn handle_batch(&self, bodies: Vec<(Body, MessageMetadata)>, _: &()) -> Outcome {
        self.0.hold().await;
        for (body, _) in &bodies {
            self.0.note(body.id);
        }
        Outcome::Ack
    }
}

fn main() -> std::process::ExitCode {
    subject::main(run)
}

fn run(options: &Options) -> Result<Answer, String> {
    if options.codec != "json" {
        return Ok(unsupported(format!(
            "the codec {} is not part of this comparison",
            options.codec
        )));
    }
    if options.flow == SEQUENCE
        && (options.method != Method::Live || options.consumers != usize::from(sequence::SHARDS))
    {
        return Ok(unsupported(format!(
            "a sequence is published and consumed at once, with {} consumers",
            sequence::SHARDS
        )));
    }
    if !["parallel", "batch", SEQUENCE].contains(&options.flow.as_str()) {
        return Ok(unsupported(format!(
            "the flow {} is not part of this comparison",
            options.flow
        )));
    }
    let runtime = runtime(options.procs).map_err(|e| e.to_string())?;
    match options.method {
        Method::Drain => runtime.block_on(drain(options)),
        Method::Live => runtime.block_on(live(options)),
        Method::Offered => runtime.block_on(offered(options)),
    }
}

async fn live(options: &Options) -> Result<Answer, String> {
    let bench = Bed::open(options).await?;
    if options.flow == SEQUENCE {
        return in_order(&bench).await;
    }
    bench.consume();
    bench.ledger.open();
    bench.fill().await?;
    bench.ledger.wait().await?;
    bench.stop.cancel();
    Answer::of_run(&bench.ledger, bench.settings())
}

/// Publishes and consumes at once, in the order of keys.
async fn in_order(bench: &Bed) -> Result<Answer, String> {
    let order = Arc::new(Order::default());
    let (book, stop) = (bench.ledger.book(0), bench.stop.clone());
    let consumer = sequence::consume(&bench.broker, book, order.clone(), stop).await?;
    bench.ledger.open();
    bench.fill().await?;
    bench.ledger.wait().await?;
    bench.stop.cancel();
    consumer.await.map_err(|e| e.to_string())?;
    Answer::of_sequence(&bench.ledger, &order, bench.settings())
}

/// Drains windows, each on a broker of its own.
async fn drain(options: &Options) -> Result<Answer, String> {
    let mut windows = Windows::new(options.window);
    loop {
        let bench = Bed::open(options).await?;
        bench.fill().await?;
        let consumers = bench.consume();
        bench.ledger.wait().await?;
        bench.stop.cancel();
        for consumer in consumers {
            consumer.await.map_err(|e| e.to_string())?;
        }
        if !windows.add(&bench.ledger)? {
            return Ok(windows.answer(bench.settings()));
        }
    }
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

/// A broker with its topic, and what a run of it needs.
struct Bed {
    options: Options,
    ledger: Arc<Ledger>,
    broker: Broker<InMemory>,
    publisher: Publisher<InMemory>,
    clock: Arc<OnceLock<Clock>>,
    payload: String,
    prefetch: u16,
    bound: usize,
    stop: CancellationToken,
}

impl Bed {
    async fn open(options: &Options) -> Result<Self, String> {
        let bound = match options.method {
            Method::Drain => options.messages.max(BOUND),
            _ => BOUND,
        };
        let capacity = NonZeroUsize::new(bound).ok_or("the bound is zero")?;
        let config = InMemoryConfig::default().with_default_capacity(capacity);
        let broker = Broker::<InMemory>::new(config)
            .await
            .map_err(|e| e.to_string())?;
        let topology = broker.topology();
        let declared = match options.flow.as_str() {
            SEQUENCE => topology.declare::<sequence::Ordered>().await,
            _ => topology.declare::<Bench>().await,
        };
        declared.map_err(|e| e.to_string())?;
        let publisher = broker.publisher().await.map_err(|e| e.to_string())?;
        Ok(Bed {
            options: options.clone(),
            ledger: Arc::new(Ledger::timed(
                options.messages,
                timed(options),
                options.consumers,
            )),
            broker,
            publisher,
            clock: Arc::default(),
            payload: "x".repeat(options.payload),
            prefetch: prefetch(options),
            bound,
            stop: CancellationToken::new(),
        })
    }

    async fn fill(&self) -> Result<(), String> {
        for id in 0..self.options.messages as u64 {
            self.send(id, 0).await?;
        }
        Ok(())
    }

    /// Starts the consumers, each with a handler and a book of its own. They end some time after they are told to stop.
    fn consume(&self) -> Vec<JoinHandle<()>> {
        let mut consumers = Vec::new();
        for consumer in 0..self.options.consumers {
            let book = self.ledger.book(consumer);
            if self.options.flow == "batch" {
                let batches = self.broker.batch_consumer();
                let options = BatchConsumerOptions::new()
                    .with_max_batch_size(BATCH_SIZE)
                    .with_max_batch_age(BATCH_AGE)
                    .with_shutdown(self.stop.clone());
                consumers.push(tokio::spawn(async move {
                    let _ = batches
                        .run::<Bench, _>(BatchHandler(book), (), options)
                        .await;
                }));
                continue;
            }
            let handler = Handler {
                book,
                clock: self.clock.clone(),
            };
            let options = ConsumerOptions::<InMemory>::new()
                .with_prefetch_count(self.prefetch)
                .with_concurrent_processing(self.prefetch > 1);
            let mut supervisor = self.broker.consumer_supervisor();
            let stop = self.stop.clone();
            consumers.push(tokio::spawn(async move {
                // A consumer that does not start is missed at the barrier.
                if supervisor.register::<Bench, _>(handler, options).is_ok() {
                    let stopped = async move { stop.cancelled().await };
                    let _ = supervisor
                        .run_until_timeout(stopped, Duration::from_secs(5))
                        .await;
                }
            }));
        }
        consumers
    }

    fn settings(&self) -> Vec<String> {
        let mut settings = vec![
            "shove=0.16.0".into(),
            "codec=serde_json".into(),
            format!("capacity={}", self.bound),
            format!("tokio_threads={}", self.options.procs),
            "handler_timeout=30s".into(),
        ];
        if self.options.flow == SEQUENCE {
            settings.push(format!("routing_shards={}", sequence::SHARDS));
            settings.push(format!("keys={SEQUENCE_KEYS}"));
            settings.push("on_failure=skip".into());
        } else if self.options.flow == "batch" {
            settings.push(format!("max_batch_size={BATCH_SIZE}"));
            settings.push("max_batch_age=250ms".into());
        } else {
            settings.push(format!("prefetch={}", self.prefetch));
            settings.push(format!("concurrent_processing={}", self.prefetch > 1));
        }
        settings
    }
}

impl Sender for Bed {
    async fn send(&self, id: u64, now: i64) -> Result<(), String> {
        let body = Body {
            id,
            published_at: now,
            payload: self.payload.clone(),
        };
        let sent = match self.options.flow.as_str() {
            SEQUENCE => self.publisher.publish::<sequence::Ordered>(&body).await,
            _ => self.publisher.publish::<Bench>(&body).await,
        };
        sent.map_err(|e| e.to_string())
    }
}

/// Messages that count in the time: of a drain in batches all but one batch for each consumer, since the last of a consumer
/// may wait for its age.
fn timed(options: &Options) -> usize {
    match (options.method, options.flow.as_str()) {
        (Method::Drain, "batch") => options
            .messages
            .saturating_sub(options.consumers * BATCH_SIZE)
            .max(options.consumers + 1),
        _ => options.messages,
    }
}

/// Messages that a consumer has in flight: the fastest of 1, 10 and 100. One consumer gains from many, which is what the
/// library's own benchmark uses. Several lose by it, since they fight for the queue all the more.
fn prefetch(options: &Options) -> u16 {
    if options.consumers == 1 { 100 } else { 1 }
}

async fn offered(options: &Options) -> Result<Answer, String> {
    let bench = Arc::new(Bed::open(options).await?);
    if bench.options.flow != "parallel" {
        return Ok(unsupported("an offered load is of the parallel flow"));
    }
    bench.consume();
    bench.ledger.open();
    let (messages, rate) = (bench.options.messages, bench.options.rate);
    let clock = bench.clock.get_or_init(|| Clock::new(messages, rate));
    let sender = bench.clone();
    let paced = tokio::spawn(async move {
        let clock = sender.clock.get().ok_or("there is no clock")?;
        subject::pace(clock, &sender.ledger, &*sender).await
    });
    let paced = paced.await.map_err(|e| e.to_string())??;
    bench.ledger.wait().await?;
    bench.stop.cancel();
    Answer::of_load(&bench.ledger, clock, &paced, bench.settings())
}
