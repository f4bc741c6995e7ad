//! `portcullis policy bench`: how long a policy takes for one document.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use portcullis_model::json::Value;
use portcullis_model::object;

use crate::arguments::PolicyBench;
use crate::gateway::runtime;
use crate::probe::{Passing, Probe};
use crate::report::{self, Report};
use crate::settings::Settings;
use crate::{Exit, Failure, passages};

/// Evaluations that are kept; further ones are only counted.
const MOST_KEPT: usize = 1_000_000;

/// Lets the document pass over and over for so many seconds.
pub(crate) fn run(settings: &Settings, arguments: &PolicyBench) -> Result<Exit, Failure> {
    let (_loader, loaded, passing) = super::prepare(settings, &arguments.subject)?;
    let probe = Probe::new(&loaded)?;
    let measured = runtime()?.block_on(measure(&probe, &passing, Duration::from_secs(arguments.seconds)))?;
    report::print(&measured, arguments.format)?;
    Ok(if measured.broken == 0 { Exit::Success } else { Exit::Failed })
}

async fn measure(probe: &Probe, passing: &Passing, wanted: Duration) -> Result<Measured, Failure> {
    let mut measured = Measured::default();
    let begin = Instant::now();
    while begin.elapsed() < wanted {
        let start = Instant::now();
        let passed = probe.pass(passing).await?;
        let whole = start.elapsed();
        measured.passages += 1;
        if measured.evaluations.len() >= MOST_KEPT {
            continue;
        }
        measured.whole.push(whole);
        for record in &passed.records {
            measured.broken += usize::from(passages::is_broken(record));
            for policy in &record.policies {
                measured.evaluations.push(policy.cost.wall);
                measured.memory = measured.memory.max(policy.cost.memory);
            }
        }
    }
    measured.elapsed = begin.elapsed();
    measured.whole.sort_unstable();
    measured.evaluations.sort_unstable();
    Ok(measured)
}

#[derive(Debug, Default)]
struct Measured {
    /// Wall times of passages, sorted.
    whole: Vec<Duration>,
    /// Wall times of evaluations, sorted.
    evaluations: Vec<Duration>,
    passages: usize,
    broken: usize,
    memory: u64,
    elapsed: Duration,
}

/// Returns the time below which so many hundredths of all are.
fn percentile(sorted: &[Duration], hundredths: usize) -> Duration {
    let index = sorted.len().saturating_sub(1) * hundredths / 100;
    sorted.get(index).copied().unwrap_or_default()
}

fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

impl Measured {
    #[expect(clippy::cast_precision_loss, reason = "a rate for people; counts of a few seconds are far from 2^52")]
    fn rate(&self) -> f64 {
        self.passages as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

impl Report for Measured {
    fn to_value(&self) -> Value {
        let nanoseconds = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let times = |sorted: &[Duration]| {
            object! {
                "p50_ns" => nanoseconds(percentile(sorted, 50)),
                "p99_ns" => nanoseconds(percentile(sorted, 99)),
                "max_ns" => nanoseconds(percentile(sorted, 100)),
            }
        };
        object! {
            "passages" => self.passages as u64,
            "broken" => self.broken as u64,
            "elapsed_ms" => u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX),
            "passage" => times(&self.whole),
            "evaluation" => times(&self.evaluations),
            "memory_bytes" => self.memory,
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let line = |out: &mut dyn Write, name: &str, sorted: &[Duration]| {
            let [half, most, all] = [50, 99, 100].map(|part| microseconds(percentile(sorted, part)));
            writeln!(out, "{name}  p50 {half:.1} µs, p99 {most:.1} µs, max {all:.1} µs")
        };
        writeln!(
            out,
            "{} passages in {:.1} s, {:.0} a second",
            self.passages,
            self.elapsed.as_secs_f64(),
            self.rate()
        )?;
        line(out, "evaluation", &self.evaluations)?;
        line(out, "passage   ", &self.whole)?;
        writeln!(out, "memory      {} KiB at most", self.memory / 1_024)?;
        if self.broken > 0 {
            writeln!(out, "broken      {}", self.broken)?;
        }
        Ok(())
    }
}
