//! The table of what was measured, with a baseline beside it where there is one.

use std::io::{self, Write};
use std::time::Duration;

use portcullis_model::json::{Object, Value};
use portcullis_model::object;

use super::measure::{Measured, percentile};
use crate::failure::one_line;
use crate::report::Report;

/// What was measured of a policy, and of the module that it is compared with.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) policy: Measured,
    pub(super) baseline: Option<Measured>,
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate: finite and not negative")]
fn whole(rate: f64) -> u64 {
    rate.round() as u64
}

impl Measured {
    fn to_object(&self) -> Object {
        let times = |sorted: &[Duration]| {
            object! {
                "p50_ns" => nanoseconds(percentile(sorted, 50)),
                "p99_ns" => nanoseconds(percentile(sorted, 99)),
                "max_ns" => nanoseconds(percentile(sorted, 100)),
            }
        };
        object! {
            "policy" => self.name.as_str(),
            "passages" => self.passages as u64,
            "broken" => self.broken as u64,
            "elapsed_ms" => u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX),
            "passage" => times(&self.whole),
            "evaluation" => times(&self.evaluations),
            "one_core_per_second" => whole(self.one_core),
            "two_cores_per_second" => whole(self.two_cores),
            "memory_bytes" => self.memory,
            "cold_load_ns" => nanoseconds(self.loads.cold),
            "cached_load_ns" => nanoseconds(self.loads.cached),
        }
    }

    /// Returns the rows: what they are called, and what stands in them.
    fn rows(&self) -> [(&'static str, f64, usize); 10] {
        let micros = |sorted: &[Duration], part| percentile(sorted, part).as_secs_f64() * 1e6;
        let millis = |time: Duration| time.as_secs_f64() * 1e3;
        let kibibytes = f64::from(u32::try_from(self.memory / 1_024).unwrap_or(u32::MAX));
        [
            ("evaluation, median (µs)", micros(&self.evaluations, 50), 1),
            ("evaluation, p99 (µs)", micros(&self.evaluations, 99), 1),
            ("evaluation, longest (µs)", micros(&self.evaluations, 100), 1),
            ("passage, median (µs)", micros(&self.whole, 50), 1),
            ("passage, p99 (µs)", micros(&self.whole, 99), 1),
            ("evaluations a second, one core", self.one_core, 0),
            ("evaluations a second, two cores", self.two_cores, 0),
            ("memory (KiB)", kibibytes, 0),
            ("load, compiled (ms)", millis(self.loads.cold), 1),
            ("load, from the cache (ms)", millis(self.loads.cached), 1),
        ]
    }
}

impl Report for Table {
    fn to_value(&self) -> Value {
        let mut object = self.policy.to_object();
        let baseline = self.baseline.as_ref().map(|baseline| Value::from(baseline.to_object()));
        object.insert("baseline", baseline.unwrap_or(Value::Null));
        object.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(baseline) = &self.baseline else {
            writeln!(out, "{:<34} {:>16}", "", one_line(&self.policy.name))?;
            for (name, value, digits) in self.policy.rows() {
                writeln!(out, "{name:<34} {value:>16.digits$}")?;
            }
            return self.write_broken(out);
        };
        let (name, other) = (one_line(&self.policy.name), one_line(&baseline.name));
        writeln!(out, "{:<34} {name:>16} {other:>16} {:>8}", "", "ratio")?;
        for ((name, value, digits), (_, other, _)) in self.policy.rows().into_iter().zip(baseline.rows()) {
            let ratio = if other > 0.0 { format!("{:.2}", value / other) } else { "–".to_owned() };
            writeln!(out, "{name:<34} {value:>16.digits$} {other:>16.digits$} {ratio:>8}")?;
        }
        self.write_broken(out)
    }
}

impl Table {
    fn write_broken(&self, out: &mut dyn Write) -> io::Result<()> {
        for measured in std::iter::once(&self.policy).chain(&self.baseline).filter(|measured| measured.broken > 0) {
            writeln!(out, "{}: {} of {} passages broke", one_line(&measured.name), measured.broken, measured.passages)?;
        }
        Ok(())
    }
}
