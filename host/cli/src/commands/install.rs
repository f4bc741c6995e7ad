//! `portcullis install`: a server of the catalog, shown, screened, written, and tried out.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use portcullis_config::{Concealed, Manifest, conceal};
use portcullis_model::json::Value;
use portcullis_model::{Occasion, Origin, ServerEntry, ServerName, object};

use crate::arguments::Install;
use crate::commands::catalog::{self, Entry, Vouched};
use crate::commands::{add, list};
use crate::config_file::ConfigEdit;
use crate::failure::{OrExit as _, one_line};
use crate::report::{self, Report, count};
use crate::screening::{Screened, Screening};
use crate::settings::Settings;
use crate::{Exit, Failure, passages, secrets_file, terminal};

/// Installs a server of the catalog.
pub(crate) fn run(settings: &Settings, install: &Install) -> Result<Exit, Failure> {
    let found = catalog::find(settings, install.config(), &install.name)?;
    let name = install.named.clone().unwrap_or_else(|| found.name.clone());
    ServerName::parse(&name).or_exit(Exit::Usage, format!("the name `{}`", one_line(&name)))?;
    let manifest = match (&found.vouched, &found.manifest) {
        (Vouched::Refused(reason), _) => return Err(refused(&found, reason)),
        (_, Some(manifest)) => manifest,
        (_, None) => return Err(refused(&found, "it could not be read")),
    };
    let mut edit = ConfigEdit::open(settings, install.config())?;
    let former = edit.text.server(&name);
    let (mut entry, mut secrets) = entry(manifest, &name, install)?;
    // An earlier choice of tools is worth more than a default.
    if let (Some(tools), Some(entry)) = (former.as_ref().and_then(|former| former.get("tools")), entry.as_object_mut())
    {
        entry.insert("tools", tools.clone());
    }
    secrets.extend(conceal(&name, &mut entry));
    let added = edit.text.add_server(&name, &entry, install.replace);
    added.map_err(|error| add::not_added(&name, error))?;
    let server = add::read(settings, &edit, &name, &secrets)?;
    let home = settings.open_home()?;
    let screening = Screening::open(&home, &edit.config(settings, BTreeMap::new())?, install.report.format)?;
    let server = ServerEntry { origin: Origin::Catalog, ..(*server).clone() };
    let screened = screening.screen(server.into(), Occasion::Install)?;
    let mut installed = Installed {
        found: &found,
        name,
        path: edit.path(),
        entry,
        screened,
        secrets,
        state: State::Shown,
        probe: Probe::Left,
    };
    let is_text = !install.report.format.json;
    if is_text {
        report::print(&Before(&installed), install.report.format)?;
    }
    installed.state = state(&installed, install)?;
    if installed.state == State::Installed {
        // First, so that no gateway that sees the entry lacks what it names.
        secrets_file::add(home.path(), &installed.secrets)?;
        edit.save()?;
        if !install.no_probe {
            installed.probe = probe(settings, install, &installed.name)?;
        }
    }
    report::print(&installed, install.report.format)?;
    Ok(match installed.state {
        State::Installed => Exit::Success,
        State::Refused => Exit::Refused,
        State::Shown | State::Declined => Exit::Failed,
    })
}

fn refused(found: &Entry, reason: &str) -> Failure {
    let message = format!("the manifest `{}` is refused: {}", one_line(&found.name), one_line(reason));
    Failure::new(Exit::Refused, message)
        .hint("`portcullis policy sign` signs a file, and `policies.keys` names who is trusted")
}

/// Decides whether it is written.
fn state(installed: &Installed<'_>, install: &Install) -> Result<State, Failure> {
    if installed.screened.refusal.is_some() {
        return Ok(State::Refused);
    }
    if install.yes {
        return Ok(State::Installed);
    }
    if install.report.format.json || !terminal::is_there() {
        return Ok(State::Shown);
    }
    let question = format!("Install it as `{}`?", one_line(&installed.name));
    Ok(if terminal::confirm(&question)? { State::Installed } else { State::Declined })
}

/// Makes the entry, with everything that has to be known.
fn entry(manifest: &Manifest, name: &str, install: &Install) -> Result<(Value, Vec<Concealed>), Failure> {
    let mut given = pairs(&install.set, |text| {
        Err(Failure::new(Exit::Usage, format!("`{}` has no value", one_line(text))).hint("write `--set NAME=VALUE`"))
    })?;
    let mut parameters = BTreeMap::new();
    for one in &manifest.parameters {
        let asked = || ask(&format!("{}: ", one.prompt), false);
        let value = match given.remove(&one.name).or_else(|| one.default.clone()) {
            Some(value) => value,
            None => asked()?.ok_or_else(|| missing(&one.prompt, &format!("--set {}=VALUE", one.name)))?,
        };
        parameters.insert(one.name.clone(), absolute(&value));
    }
    if let Some((unknown, _)) = given.first_key_value() {
        let names: Vec<&str> = manifest.parameters.iter().map(|one| one.name.as_str()).collect();
        return Err(Failure::new(Exit::Usage, format!("the server takes no `{}`", one_line(unknown)))
            .hint(format!("it takes: {}", if names.is_empty() { "nothing".to_owned() } else { names.join(", ") })));
    }
    let mut given = pairs(&install.env, |name| Ok(format!("${{{name}}}")))?;
    let mut variables = BTreeMap::new();
    for asked in &manifest.variables {
        let is_set = std::env::var(&asked.name).is_ok_and(|value| !value.is_empty());
        let value = match given.remove(&asked.name) {
            Some(value) => Some(value),
            None if is_set => Some(format!("${{{}}}", asked.name)),
            None if asked.default.is_some() => asked.default.clone(),
            None if asked.required => {
                let typed = ask(&format!("{} ({}): ", asked.prompt, asked.name), asked.secret)?;
                Some(typed.ok_or_else(|| missing(&asked.prompt, &format!("--env {}=VALUE", asked.name)))?)
            }
            None => None,
        };
        variables.extend(value.map(|value| (asked.name.clone(), value)));
    }
    variables.extend(given);
    let mut entry = manifest.entry(&parameters, &variables);
    // What the manifest calls a secret is one, whatever it looks like.
    let secrets = manifest.variables.iter().filter(|asked| asked.secret).map(|asked| asked.name.as_str());
    let secrets = portcullis_config::conceal_variables(name, &mut entry, secrets);
    Ok((entry, secrets))
}

fn missing(prompt: &str, option: &str) -> Failure {
    Failure::new(Exit::Usage, format!("this has to be known: {prompt}")).hint(format!("add `{option}`"))
}

/// Takes `NAME=VALUE` apart; what `bare` says where there is no value.
fn pairs(
    texts: &[String],
    bare: impl Fn(&str) -> Result<String, Failure>,
) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Ok((text.clone(), bare(text)?)),
    };
    texts.iter().map(pair).collect()
}

/// Returns a path that exists as an absolute one: a server is not started in the folder of this command.
fn absolute(value: &str) -> String {
    let is_path = !value.contains("${") && std::path::Path::new(value).exists();
    let absolute = is_path.then(|| std::path::absolute(value).ok()).flatten();
    absolute.map_or_else(|| value.to_owned(), |path| path.display().to_string())
}

/// Asks on the terminal; nothing where nobody is there or nothing was typed.
fn ask(prompt: &str, secret: bool) -> Result<Option<String>, Failure> {
    if !terminal::is_there() {
        return Ok(None);
    }
    #[cfg(unix)]
    if secret {
        let typed = crate::commands::approvals::passphrase::ask(prompt)?;
        return Ok(Some(typed).filter(|typed| !typed.is_empty()));
    }
    let _: bool = secret;
    Ok(Some(terminal::ask_line(prompt)?).filter(|typed| !typed.is_empty()))
}

/// Starts the server once, to see whether it runs and which tools are used.
fn probe(settings: &Settings, install: &Install, name: &str) -> Result<Probe, Failure> {
    let (_, mut config) = settings.read_config(install.config())?;
    config.servers.retain(|server| server.name().as_str() == name);
    for server in &mut config.servers {
        server.options.lazy = false;
    }
    report::progress("starting it once", install.report.format);
    let survey = list::survey(settings, &config, install.report.format)?;
    let Some(status) = survey.status.servers.first() else {
        return Ok(Probe::Failed("it is not in the config".to_owned()));
    };
    if status.phase.is_up() {
        let (used, listed) = (survey.own_names.len(), status.counts.tools_listed);
        return Ok(Probe::Worked { used, listed, withheld: status.withheld.len() });
    }
    Ok(Probe::Failed(status.reason.clone().unwrap_or_else(|| "it did not get ready in time".to_owned())))
}

/// How far it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nobody said yes.
    Shown,
    /// Somebody said no.
    Declined,
    /// The gate refused it, or asked and nobody answered.
    Refused,
    /// It is in the config.
    Installed,
}

/// What starting it once showed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Probe {
    /// It was not started.
    Left,
    /// It runs.
    Worked { used: usize, listed: usize, withheld: usize },
    /// It does not, for this reason.
    Failed(String),
}

struct Installed<'a> {
    found: &'a Entry,
    name: String,
    path: PathBuf,
    entry: Value,
    screened: Screened,
    secrets: Vec<Concealed>,
    state: State,
    probe: Probe,
}

/// What is shown before anything is decided.
struct Before<'a>(&'a Installed<'a>);

impl Report for Before<'_> {
    fn to_value(&self) -> Value {
        self.0.to_value()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.0.found.write_text(out)?;
        writeln!(out, "  gates")?;
        passages::write_text(&self.0.screened.passages, out)
    }
}

impl Report for Installed<'_> {
    fn to_value(&self) -> Value {
        let secrets = self
            .secrets
            .iter()
            .map(|secret| object! { "place" => secret.place.as_str(), "variable" => secret.variable.as_str() }.into());
        let probe = match &self.probe {
            Probe::Left => object! { "outcome" => "left out" },
            Probe::Worked { used, listed, withheld } => object! {
                "outcome" => "worked", "tools_used" => *used as u64, "tools_listed" => *listed as u64,
                "withheld" => *withheld as u64,
            },
            Probe::Failed(reason) => object! { "outcome" => "failed", "reason" => reason.as_str() },
        };
        object! {
            "server" => self.name.as_str(),
            "manifest" => self.found.to_object(),
            "file" => self.path.display().to_string(),
            "installed" => self.state == State::Installed,
            "entry" => self.entry.clone(),
            "secrets" => secrets.collect::<Vec<Value>>(),
            "screening" => self.screened.to_value(),
            "probe" => probe,
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.state {
            State::Shown => {
                return writeln!(out, "not installed: nobody is at a terminal to say yes\nhint: add `--yes`");
            }
            State::Declined => return writeln!(out, "not installed"),
            State::Refused => {
                let hint = self.screened.hint().unwrap_or_default();
                return writeln!(out, "not installed: a gate refuses it\nhint: {hint}");
            }
            State::Installed => {}
        }
        writeln!(out, "installed as {} in {}", one_line(&self.name), self.path.display())?;
        for secret in &self.secrets {
            writeln!(out, "  {} is kept in secrets.yaml as {}", one_line(&secret.place), secret.variable)?;
        }
        match &self.probe {
            Probe::Left => writeln!(out, "  it was not started; the default choice of tools holds")?,
            Probe::Worked { used, listed, withheld } => {
                write!(out, "  it runs: {used} of {} used", count(*listed, "tool"))?;
                writeln!(
                    out,
                    "{}",
                    if *withheld > 0 { format!(", {withheld} withheld by gates") } else { String::new() }
                )?;
            }
            Probe::Failed(reason) => {
                writeln!(out, "  it does not run yet: {}", one_line(reason))?;
                writeln!(out, "  the default choice of tools holds, and was not compared with what it lists")?;
            }
        }
        if let Some(note) = self.found.manifest.as_ref().and_then(|manifest| manifest.post_install.as_ref()) {
            writeln!(out, "  {}", one_line(note))?;
        }
        writeln!(out, "hint: `portcullis export --client NAME` points a client at the gateway")
    }
}
