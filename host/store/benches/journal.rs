//! What a record costs whoever waits for it, and how many a process writes in a second.
//!
//! `cargo bench -p portcullis-store`

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use criterion::{BenchmarkId, Criterion, Throughput};
use portcullis_gates::{Cost, Journal as _, PolicyOutcome, PolicyRecord, Record, RecordedDecision};
use portcullis_model::{Digest, GateName, PolicyName};
use portcullis_store::{Durability, Home, SqliteStore, StoreOptions};

/// A passage that the whole default bundle lets through: as long as a usual record gets.
fn usual() -> Record {
    let policy = |name: &str| PolicyRecord {
        policy: PolicyName::parse(name).expect("a name"),
        digest: Digest::of(name.as_bytes()),
        shadow: false,
        round: 1,
        outcome: PolicyOutcome::Allow,
        findings: Vec::new(),
        edits: 0,
        dropped: Vec::new(),
        cost: Cost { wall: Duration::from_nanos(9_001), cpu: Duration::from_nanos(8_002), memory: 131_072 },
    };
    Record {
        at: SystemTime::now(),
        session: "6f1c0f3e5d0b4a39".to_owned(),
        gate: GateName::Call,
        server: "files".to_owned(),
        name: "read_text_file".to_owned(),
        subject: Digest::of(b"arguments"),
        generation: 3,
        decision: RecordedDecision::Cleared,
        decided_by: None,
        policies: ["pins", "trust", "flow", "site"].map(policy).to_vec(),
        approvals: Vec::new(),
        elapsed: Duration::from_nanos(41_123),
        inputs: Vec::new(),
    }
}

fn store(durability: Durability) -> (tempfile::TempDir, Arc<SqliteStore>) {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::open(folder.path()).expect("a home");
    let store = SqliteStore::open(&home, StoreOptions { durability, ..StoreOptions::default() }).expect("a store");
    (folder, Arc::new(store))
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    let mut group = criterion.benchmark_group("record");
    for (name, durability) in [("process", Durability::Process), ("power", Durability::Power)] {
        let (_folder, store) = store(durability);
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::new(name, "1 caller"), |bencher| {
            bencher.iter_batched(
                usual,
                |record| runtime.block_on(store.write(record)).expect("it is written"),
                criterion::BatchSize::SmallInput,
            );
        });
        group.throughput(Throughput::Elements(16));
        group.bench_function(BenchmarkId::new(name, "16 callers"), |bencher| {
            bencher.iter_batched(
                || vec![usual(); 16],
                |records| {
                    runtime.block_on(async {
                        let writes = records.into_iter().map(|record| {
                            let store = Arc::clone(&store);
                            tokio::spawn(async move { store.write(record).await.expect("it is written") })
                        });
                        for write in writes.collect::<Vec<_>>() {
                            write.await.expect("it is written");
                        }
                    });
                },
                criterion::BatchSize::SmallInput,
            );
        });
    }
    group.finish();
    criterion.final_summary();
}
