//! `portcullis explain-env`: which variables a server gets, and why. Names alone, never a value.

use std::collections::BTreeSet;
use std::io::{self, Write};

use portcullis_model::json::Value;
use portcullis_model::{Launch, object};
use portcullis_store::JournalEntry;

use crate::arguments::Named;
use crate::commands::list;
use crate::failure::one_line;
use crate::report::{self, Report};
use crate::screening::Screening;
use crate::settings::Settings;
use crate::{Exit, Failure, passages};

/// Shows which variables a server gets.
pub(crate) fn run(settings: &Settings, named: &Named) -> Result<Exit, Failure> {
    let (_, config) = settings.read_config(&named.config)?;
    let known: Vec<String> = config.servers.iter().map(|server| server.name().to_string()).collect();
    let server = config.server(&named.name).ok_or_else(|| list::unknown(&named.name, &known, &config))?;
    let Launch::Stdio { environment, .. } = &server.entry.launch else {
        return Err(Failure::new(
            Exit::Usage,
            format!("`{}` is no process: it gets no environment", one_line(&named.name)),
        ));
    };
    let own: BTreeSet<String> = environment.iter().map(|(name, _)| name.clone()).collect();
    let home = settings.open_home()?;
    let screening = Screening::open(&home, &config, named.format)?;
    let offered: BTreeSet<String> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    let selected = screening.select(std::sync::Arc::clone(&server.entry), &offered)?;
    let (kept, passages) = match selected {
        Ok(selected) => selected,
        Err(refusal) => {
            let message = format!("the environment gate lets nothing through: {}", refusal.detail);
            return Err(Failure::new(Exit::Refused, message));
        }
    };
    let explained = Explained {
        server: named.name.clone(),
        from_gateway: kept.difference(&own).cloned().collect(),
        withheld: offered.difference(&kept).filter(|name| !own.contains(*name)).cloned().collect(),
        own: own.into_iter().collect(),
        passages,
    };
    report::print(&explained, named.format)?;
    Ok(Exit::Success)
}

struct Explained {
    server: String,
    own: Vec<String>,
    from_gateway: Vec<String>,
    withheld: Vec<String>,
    passages: Vec<JournalEntry>,
}

impl Report for Explained {
    fn to_value(&self) -> Value {
        let names = |names: &[String]| names.iter().map(|name| Value::from(name.as_str())).collect::<Vec<_>>();
        object! {
            "server" => self.server.as_str(),
            "of_the_entry" => names(&self.own),
            "of_the_gateway" => names(&self.from_gateway),
            "withheld" => names(&self.withheld),
            "gates" => self.passages.iter().map(passages::to_value).collect::<Vec<_>>(),
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let names = |names: &[String]| if names.is_empty() { "none".to_owned() } else { one_line(&names.join(", ")) };
        writeln!(out, "{} gets", one_line(&self.server))?;
        writeln!(out, "  from its entry (`env`): {}", names(&self.own))?;
        writeln!(
            out,
            "  from the gateway's environment, as the gate lets them through: {}",
            names(&self.from_gateway)
        )?;
        writeln!(out, "and does not get")?;
        writeln!(out, "  what the gate withholds: {}", names(&self.withheld))?;
        passages::write_text(&self.passages, out)?;
        writeln!(out, "hint: a variable that it should get stands under `env` in its entry, as `NAME: \"${{NAME}}\"`")
    }
}
