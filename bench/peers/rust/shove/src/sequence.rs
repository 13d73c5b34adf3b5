//! The sequenced consumer: shards of keys, each of which handles one message at a time.

use std::sync::Arc;
use std::time::Duration;

use shove::{
    Broker, ConsumerOptions, InMemory, MessageHandler, MessageMetadata, Outcome, SequenceFailure,
    SequencedTopic, TopologyBuilder, define_sequenced_topic,
};
use subject::{Book, Order, SEQUENCE_KEYS};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::Body;

/// The shards, as many as shove has by default and as handlers run at once.
pub const SHARDS: u16 = 8;

define_sequenced_topic!(
    pub(crate) Ordered,
    Body,
    key,
    TopologyBuilder::new("bench-ordered")
        .sequenced(SequenceFailure::Skip)
        .routing_shards(SHARDS)
        .hold_queue(Duration::from_secs(1))
        .dlq()
        .build()
);

fn key(body: &Body) -> String {
    format!("key-{}", body.id % SEQUENCE_KEYS)
}

struct Handler {
    book: Arc<Book>,
    order: Arc<Order>,
}

impl MessageHandler<Ordered> for Handler {
    type Context = ();

    async fn handle(&self, body: Body, _: MessageMetadata, _: &()) -> Outcome {
        self.order.note(body.id);
        self.book.note(body.id);
        Outcome::Ack
    }
}

/// Starts the consumer of all shards. It ends some time after it is told to stop.
pub async fn consume(
    broker: &Broker<InMemory>,
    book: Arc<Book>,
    order: Arc<Order>,
    stop: CancellationToken,
) -> Result<JoinHandle<()>, String> {
    let mut supervisor = broker.consumer_supervisor();
    supervisor
        .register_fifo::<Ordered, _>(Handler { book, order }, ConsumerOptions::<InMemory>::new())
        .await
        .map_err(|e| e.to_string())?;
    Ok(tokio::spawn(async move {
        let stopped = async move { stop.cancelled().await };
        let _ = supervisor
            .run_until_timeout(stopped, Duration::from_secs(5))
            .await;
    }))
}
