//! Measures both ways to commit: `cargo test -p portcullis-store --release -- --ignored --nocapture what_a_record_costs`

use std::time::{Duration, Instant};

use portcullis_gates::{Journal as _, Record};

use super::{allowed, home, record};
use crate::store::Leader;
use crate::{Durability, SqliteStore, StoreOptions};

/// A passage that the whole default bundle lets through: as long as a usual record gets.
fn usual() -> Record {
    let names = ["config-screen", "environment", "description-scan", "pins", "trust", "flow"];
    Record { policies: names.map(allowed).to_vec(), ..record("read_text_file") }
}

#[test]
#[ignore = "a measurement, for an optimised build"]
fn what_a_record_costs() {
    for (durability, leader, records) in [
        (Durability::Process, Leader::Caller, 4_000),
        (Durability::Process, Leader::CallerAtOnce, 4_000),
        (Durability::Process, Leader::Thread, 4_000),
        (Durability::Power, Leader::Thread, 100),
    ] {
        for (callers, workers) in [(1, 2), (16, 1), (16, 2)] {
            let (_folder, home) = home();
            let options = StoreOptions { durability, ..StoreOptions::default() };
            let store = SqliteStore::open_with(&home.database(), options, leader).unwrap();
            let store = std::sync::Arc::new(store);
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).build().unwrap();
            let start = Instant::now();
            let mut waits: Vec<Duration> = runtime.block_on(async {
                let callers: Vec<_> = (0..callers)
                    .map(|_| {
                        let store = std::sync::Arc::clone(&store);
                        tokio::spawn(async move {
                            let mut waits = Vec::with_capacity(records);
                            for _ in 0..records {
                                let start = Instant::now();
                                store.write(usual()).await.unwrap();
                                waits.push(start.elapsed());
                                // What lies between two passages of one message: others get their turn.
                                tokio::task::yield_now().await;
                            }
                            waits
                        })
                    })
                    .collect();
                let mut waits = Vec::new();
                for caller in callers {
                    waits.extend(caller.await.unwrap());
                }
                waits
            });
            let total = start.elapsed();
            waits.sort_unstable();
            let rate = f64::from(u32::try_from(waits.len()).unwrap()) / total.as_secs_f64();
            println!(
                "{durability:?} {leader:?}: {callers} callers on {workers} threads: p50 {:?} p99 {:?} max {:?}, {rate:.0}/s",
                waits[waits.len() / 2],
                waits[waits.len() * 99 / 100],
                waits[waits.len() - 1],
            );
            assert!(rate > 0.0);
        }
    }
}
