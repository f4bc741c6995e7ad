//! Checking the chains of records, and taking their heads elsewhere.

use std::io::{self, Read as _, Write};
use std::path::Path;
use std::time::SystemTime;

use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_store::{ChainReport, Head, HeadKey, SignedHead, Verification};

use super::ended;
use crate::arguments::ConfigFile;
use crate::arguments::journal::Verify;
use crate::failure::OrExit as _;
use crate::report::{self, Report};
use crate::settings::Settings;
use crate::{Exit, Failure};

/// A file of heads has a line for each process that ever wrote, of 400 bytes.
const LONGEST_FILE: u64 = 64 << 20;

/// Prints the heads of all chains, signed.
pub(super) fn heads(settings: &Settings, config: &ConfigFile) -> Result<Exit, Failure> {
    let store = settings.open_store(config)?;
    let key = HeadKey::of(&settings.open_home()?).or_exit(Exit::State, "reading the key of the journal")?;
    let heads = store.heads().or_exit(Exit::State, "reading the journal")?;
    let now = SystemTime::now();
    let mut out = io::BufWriter::new(io::stdout().lock());
    for head in heads {
        if ended(writeln!(out, "{}", key.sign(head, now).to_value().to_json()))? {
            return Ok(Exit::Success);
        }
    }
    ended(out.flush()).map(|_| Exit::Success)
}

/// Checks all chains.
pub(super) fn verify(settings: &Settings, arguments: &Verify) -> Result<Exit, Failure> {
    let store = settings.open_store(&arguments.config)?;
    let heads = match &arguments.heads {
        Some(path) => kept(settings, path, arguments.key.as_deref())?,
        None => Vec::new(),
    };
    report::progress("checking every record", arguments.format);
    let verification = store.verify(&heads).or_exit(Exit::State, "reading the journal")?;
    let holds = verification.holds();
    report::print(&Checked { verification, heads: heads.len() }, arguments.format)?;
    Ok(if holds { Exit::Success } else { Exit::Failed })
}

/// Reads heads that were kept. One that is not signed by the key proves nothing and is an error.
fn kept(settings: &Settings, path: &Path, key: Option<&str>) -> Result<Vec<Head>, Failure> {
    let key = match key {
        Some(key) => key.to_owned(),
        None => HeadKey::of(&settings.open_home()?).or_exit(Exit::State, "reading the key of the journal")?.public(),
    };
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(LONGEST_FILE).read_to_string(&mut text))
        .or_exit(Exit::Usage, format!("reading `{}`", path.display()))?;
    let mut heads = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |what: &str| {
            let place = format!("{} line {}: {what}", path.display(), number + 1);
            Err(Failure::new(Exit::Usage, place).hint("`portcullis journal heads` prints such files"))
        };
        match SignedHead::parse(line) {
            None => return wrong("it is no head of a chain"),
            Some(head) if head.key != key => return wrong("another key signed it than the one that counts"),
            Some(head) if !head.is_genuine() => return wrong("its signature does not fit: it was changed"),
            Some(head) => heads.push(head.head),
        }
    }
    Ok(heads)
}

struct Checked {
    verification: Verification,
    /// Heads that were given.
    heads: usize,
}

impl Report for Checked {
    fn to_value(&self) -> Value {
        let chain = |chain: &ChainReport| -> Value {
            object! {
                "chain" => chain.chain.to_string(),
                "records" => chain.records,
                "pruned" => chain.pruned,
                "last" => chain.head.sequence,
                "hash" => chain.head.hash.to_string(),
                "troubles" => chain.troubles,
                "told" => chain.told.iter().map(|trouble| Value::from(trouble.to_string())).collect::<Vec<_>>(),
            }
            .into()
        };
        object! {
            "holds" => self.verification.holds(),
            "records" => self.verification.records(),
            "heads" => u64::try_from(self.heads).unwrap_or(u64::MAX),
            "damaged_segments" => u64::try_from(self.verification.damaged_segments).unwrap_or(u64::MAX),
            "missing_chains" => self.verification.missing.iter().map(|head| Value::from(head.chain.to_string())).collect::<Vec<_>>(),
            "chains" => self.verification.chains.iter().map(chain).collect::<Vec<_>>(),
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Verification { chains, missing, damaged_segments } = &self.verification;
        writeln!(
            out,
            "{} in {}, checked against {}",
            report::count(usize::try_from(self.verification.records()).unwrap_or(usize::MAX), "record"),
            report::count(chains.len(), "chain"),
            match self.heads {
                0 => "each other alone: heads that were kept elsewhere prove more (`journal heads`)".to_owned(),
                heads => report::count(heads, "kept head"),
            }
        )?;
        for chain in chains.iter().filter(|chain| chain.troubles > 0) {
            writeln!(
                out,
                "chain {}: {}",
                chain.chain,
                report::count(usize::try_from(chain.troubles).unwrap_or(usize::MAX), "trouble")
            )?;
            for trouble in &chain.told {
                writeln!(out, "  {trouble}")?;
            }
        }
        for head in missing {
            writeln!(out, "chain {} is gone: it had {} records at least", head.chain, head.link.sequence)?;
        }
        if *damaged_segments > 0 {
            writeln!(
                out,
                "{} in the folder `journal` cannot be read to the end",
                report::count(*damaged_segments, "segment")
            )?;
        }
        writeln!(out, "{}", if self.verification.holds() { "nothing was changed" } else { "the journal was changed" })
    }
}
